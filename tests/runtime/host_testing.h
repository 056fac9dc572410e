/* What tests of devices that are this machine share: kernels, calls that go well, and calls that
 * find something at a kernel's line. */
#ifndef TILEC_TESTS_HOST_TESTING_H
#define TILEC_TESTS_HOST_TESTING_H
#include "api_testing.h"

static const char kernels[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def copy(x, y, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(y + i, tl.load(x + i) + 1)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def masked(x, y, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) + 1, mask=i < n)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def one(x, y, i, j):\n"
    "    tl.store(y + j, tl.load(x + i))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def gather(list, y, n, BLOCK: tl.constexpr):\n"
    "    x = tl.load(list + tl.program_id(0)).to(tl.pointer_type(tl.float32))\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0)))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def where(x, y):\n"
    "    tl.store(y, x.to(tl.int64))\n"
    "    tl.store(y + 1, (y + 1).to(tl.int64))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def say(n):\n"
    "    tl.device_print(\"n\", n)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def race(x):\n"
    "    tl.store(x, tl.program_id(0).to(tl.float32))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def hole(x, y, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    tl.store(y + i, tl.load(x + i, mask=i < n))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def endless(x):\n"
    "    while tl.load(x) == 0:\n"
    "        tl.debug_barrier()\n"
    "\n"
    "\n"
    "@triton.autotune(configs=[triton.Config({\"BLOCK\": 16}), triton.Config({\"BLOCK\": 32})],\n"
    "                 key=[\"n\"])\n"
    "@triton.jit\n"
    "def tuned(x, n, BLOCK: tl.constexpr):\n"
    "    tl.store(x, BLOCK * 1.0)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def boxes(x, y, m, n, stride, BLOCK: tl.constexpr):\n"
    "    a = tl.make_tensor_descriptor(x, [m, n], [stride, 1], [BLOCK, BLOCK])\n"
    "    b = tl.make_tensor_descriptor(y, [m, n], [stride, 1], [BLOCK, BLOCK])\n"
    "    i = tl.program_id(0) * BLOCK\n"
    "    b.store([i, 0], a.load([i, 0]))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def wrong(x):\n"
    "    tl.store(x, nowhere)\n";

typedef struct Both {
    tile_host_kind kind;
    const char *name;
} Both;
static const Both both[] = {{TILE_HOST_INTERPRETER, "interpreter"},
                            {TILE_HOST_SIMULATOR, "simulator"}};
#define FOR_BOTH(which) for (const Both *which = both; which < both + 2; which++)

static inline tile_device *open_host(Fixture *f, tile_host_options options) {
    tile_device *device = NULL;
    options.size = sizeof options;
    assert_int_equal(tile_device_open_host(f->context, &options, &device, NULL), TILE_OK);
    return device;
}

static inline tile_device *open_kind(Fixture *f, tile_host_kind kind) {
    return open_host(f, (tile_host_options){.kind = kind});
}

static inline tile_function *make_function(Fixture *f, const char *kernel) {
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("kernels.tile"),
                                          .source = text(kernels),
                                          .kernel = text(kernel),
                                          .cancellation = NULL};
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    if (tile_function_create(f->context, &options, &function, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    return function;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define AT(pointer) ((uint64_t)(uintptr_t)(pointer))
#define BUFFER(array) tile_buffer(AT(array), TILE_FP32, sizeof(array))

/* A call of `grid` programs; the text is what was said, which the caller frees. */
static inline tile_status call(tile_function *function, tile_device *device, uint32_t grid,
                               const tile_argument *arguments, size_t count,
                               const tile_host_array *arrays, size_t array_count,
                               tile_diagnostics **said) {
    const uint32_t programs[3] = {grid, 1, 1};
    const tile_call made = {.size = sizeof made,
                            .device = device,
                            .grid = programs,
                            .arguments = arguments,
                            .argument_count = count,
                            .arrays = arrays,
                            .array_count = array_count};
    return tile_function_call(function, &made, NULL, said);
}

static inline void call_well(tile_function *function, tile_device *device, uint32_t grid,
                             const tile_argument *arguments, size_t count,
                             const tile_host_array *arrays, size_t array_count) {
    tile_diagnostics *said = NULL;
    if (call(function, device, grid, arguments, count, arrays, array_count, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
}

/* The call fails, and says `words` at a line of the kernel's text (0: at no place). */
static inline void call_badly(tile_function *function, tile_device *device, uint32_t grid,
                              const tile_argument *arguments, size_t count,
                              const tile_host_array *arrays, size_t array_count, tile_status status,
                              uint32_t line, const char *words) {
    tile_diagnostics *said = NULL;
    tile_diagnostic item = {.size = sizeof item};
    const tile_status found =
        call(function, device, grid, arguments, count, arrays, array_count, &said);
    if (found != status)
        fail_msg("%s: %s", tile_status_text(found), tile_diagnostics_text(said).data);
    bool is_found = false;
    for (size_t i = 0; tile_diagnostics_get(said, i, &item) == TILE_OK && !is_found; i++)
        is_found = item.severity == TILE_ERROR && strstr(item.rendered.data, words) &&
                   item.line == line && (!line || !strcmp(item.path.data, "kernels.tile"));
    if (!is_found)
        fail_msg("no \"%s\" at line %u: %s", words, line, tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
}

static inline uint32_t line_of(const char *words) {
    uint32_t line = 1;
    for (const char *at = strstr(kernels, words); at > kernels; at--)
        line += at[-1] == '\n';
    return line;
}
#endif
