/* A C program as a user would write it: compiles a kernel to PTX and prints what is known of it. */
#include <stdio.h>
#include <string.h>
#include <tilec.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def scale(x, n, factor, BLOCK: tl.constexpr):\n"
                             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                             "    mask = i < n\n"
                             "    tl.store(x + i, tl.load(x + i, mask=mask) * factor, mask=mask)\n";

static tile_text text(const char *data) {
    tile_text result = {data, strlen(data)};
    return result;
}

int main(void) {
    tile_context *context = NULL;
    tile_kernel *kernel = NULL;
    tile_diagnostics *diagnostics = NULL;
    tile_context_options context_options = {.size = sizeof context_options,
                                            .cache_folder = text("none")};
    if (tile_context_create(&context_options, &context) != TILE_OK)
        return 1;
    tile_compile_options options = {.size = sizeof options,
                                    .path = text("scale.tile"),
                                    .source = text(source),
                                    .signature = text("*fp32:16, i32, fp32, 1024"),
                                    .target = text("sm_90a"),
                                    .want = TILE_WANT(TILE_OUTPUT_PTX)};
    tile_status status = tile_compile(context, &options, &kernel, &diagnostics);
    if (status != TILE_OK) {
        fprintf(stderr, "%s\n%s", tile_status_text(status),
                tile_diagnostics_text(diagnostics).data);
        return 1;
    }
    tile_kernel_info info = {.size = sizeof info};
    if (tile_kernel_get_info(kernel, &info) != TILE_OK || info.param_count != 4)
        return 1;
    tile_text ptx = tile_kernel_get_output(kernel, TILE_OUTPUT_PTX);
    printf("%.*s for %.*s: %d threads, %zu parameters, PTX %s\n", (int)info.name.size,
           info.name.data, (int)info.target.size, info.target.data, info.threads, info.param_count,
           strstr(ptx.data, ".entry scale") ? "has the entry" : "lacks the entry");
    tile_kernel_destroy(kernel);
    tile_diagnostics_destroy(diagnostics);
    tile_context_destroy(context);
    return 0;
}
