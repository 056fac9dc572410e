/* Softmax in the plain form: libtilec makes a cubin that takes the source's parameters and nothing
 * else, and this program, which stands for a host with a launcher of its own, loads and launches
 * it by the CUDA driver alone.
 *
 *     plain [softmax.tile] */
#include "softmax.h"

#include <dlfcn.h>
#include <string.h>

/* Of cuda.h: what this launcher calls. */
typedef struct Driver {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*push)(void *);
    int (*capability)(int *, int, int);
    int (*load)(void **, const void *);
    int (*find)(void **, void *, const char *);
    int (*set)(void *, int, int);
    int (*allocate)(uint64_t *, size_t);
    int (*release)(uint64_t);
    int (*write)(uint64_t, const void *, size_t);
    int (*read)(void *, uint64_t, size_t);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
} Driver;

static int open_driver(Driver *driver) {
    static const char *const names[] = {"cuInit",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuCtxPushCurrent_v2",
                                        "cuDeviceGetAttribute",
                                        "cuModuleLoadData",
                                        "cuModuleGetFunction",
                                        "cuFuncSetAttribute",
                                        "cuMemAlloc_v2",
                                        "cuMemFree_v2",
                                        "cuMemcpyHtoD_v2",
                                        "cuMemcpyDtoH_v2",
                                        "cuLaunchKernel"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = library ? dlsym(library, names[i]) : NULL;
        if (!found)
            return 0;
        memcpy((char *)driver + i * sizeof found, &found, sizeof found);
    }
    return !driver->init(0) && !driver->retain(&context, 0) && !driver->push(context);
}

/* NULL after what is wrong was printed. */
static tile_kernel *compile(tile_context *context, const char *path, const char *target) {
    static const char signature[] = "*fp32:16, *fp32:16, i32, i32, i32, 1024";
    const tile_compile_options options = {.size = sizeof options,
                                          .path = {path, strlen(path)},
                                          .signature = {signature, sizeof signature - 1},
                                          .target = {target, strlen(target)},
                                          .plain_abi = true};
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    if (tile_compile(context, &options, &kernel, &said) != TILE_OK)
        fputs(said ? tile_diagnostics_text(said).data : "softmax: not compiled\n", stderr);
    tile_diagnostics_destroy(said);
    return kernel;
}

/* What a launcher has to know of a kernel is in its facts. */
static int launch(const Driver *driver, const tile_kernel *kernel, uint64_t in, uint64_t out) {
    enum { MAX_DYNAMIC_SHARED = 8, WITHOUT_OPT_IN = 48 << 10 };
    tile_kernel_info info = {.size = sizeof info};
    void *module = NULL, *function = NULL;
    int32_t stride = COLS, cols = COLS;
    void *params[] = {&in, &out, &stride, &stride, &cols};
    if (tile_kernel_get_info(kernel, &info) != TILE_OK ||
        driver->load(&module, tile_kernel_get_output(kernel, TILE_OUTPUT_CUBIN).data) ||
        driver->find(&function, module, info.name.data) ||
        (info.shared_bytes > WITHOUT_OPT_IN &&
         driver->set(function, MAX_DYNAMIC_SHARED, info.shared_bytes)))
        return 0;
    return !driver->launch(function, ROWS, 1, 1, (unsigned)info.threads, 1, 1,
                           (unsigned)info.shared_bytes, NULL, params, NULL);
}

static int run(const Driver *driver, const tile_kernel *kernel, const float *x, float *y) {
    const size_t bytes = sizeof *x * ROWS * COLS;
    uint64_t in = 0, out = 0;
    const int ran = !driver->allocate(&in, bytes) && !driver->allocate(&out, bytes) &&
                    !driver->write(in, x, bytes) && launch(driver, kernel, in, out) &&
                    !driver->read(y, out, bytes);
    driver->release(in);
    driver->release(out);
    if (!ran)
        fputs("plain: the driver refuses\n", stderr);
    return ran ? check_rows(x, y) : 3;
}

int main(int argc, char **argv) {
    enum { MAJOR = 75, MINOR = 76 };
    Driver driver;
    tile_context *context = NULL;
    int major = 0, minor = 0, status = 1;
    char target[16];
    if (!open_driver(&driver) || driver.capability(&major, MAJOR, 0) ||
        driver.capability(&minor, MINOR, 0)) {
        fputs("plain: there is no GPU\n", stderr);
        return 3;
    }
    snprintf(target, sizeof target, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
    float *x = make_rows(), *y = calloc((size_t)ROWS * COLS, sizeof *y);
    tile_kernel *kernel = NULL;
    if (x && y && tile_context_create(NULL, &context) == TILE_OK)
        kernel = compile(context, argc > 1 ? argv[1] : "softmax.tile", target);
    if (kernel)
        status = run(&driver, kernel, x, y);
    tile_kernel_destroy(kernel);
    tile_context_destroy(context);
    free(x);
    free(y);
    return status;
}
