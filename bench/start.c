/* What a process takes to its first launch, in milliseconds by stage.
 *
 *     bench_start write LAUNCH.tile CUBIN             compile, and write the cubin
 *     bench_start function LAUNCH.tile                create a function and launch it
 *     bench_start executable LAUNCH.tile              compile, load, launch
 *     bench_start driver CUBIN KERNEL THREADS SHARED  the same with the driver alone
 *
 * One is a process; launch.py runs them in turn. Time begins before tile_context_create, and before
 * the driver is loaded, and ends when the launch returns. `write` prints the arguments of `driver`,
 * the others {"stage": .., .., "total": ..}. */
#include "common.h"
#include "driver.h"

enum { BLOCK = 64, MOST_STAGES = 8 };

/* No program reads or writes anything. */
typedef struct Values {
    uint64_t y, x;
    int32_t n;
} Values;

typedef struct Stages {
    const char *names[MOST_STAGES];
    double ends[MOST_STAGES], begin;
    int count;
} Stages;

static const uint32_t grid[3] = {1, 1, 1};

static void stage(Stages *stages, const char *name) {
    stages->names[stages->count] = name;
    stages->ends[stages->count++] = now_us();
}

static void print_stages(const Stages *stages) {
    double last = stages->begin;
    printf("{");
    for (int i = 0; i < stages->count; last = stages->ends[i++])
        printf("\"%s\": %.3f, ", stages->names[i], (stages->ends[i] - last) / 1e3);
    printf("\"total\": %.3f}\n", (last - stages->begin) / 1e3);
}

static tile_compile_options options_of(const char *path, tile_device *device) {
    return (tile_compile_options){.size = sizeof(tile_compile_options),
                                  .path = text_of(path),
                                  .kernel = text_of("add3"),
                                  .signature = text_of("*fp32:16, *fp32:16, i32:16, 64"),
                                  .device = device};
}

static void write_cubin(const char *source, const char *path) {
    tile_context *context;
    tile_device *device;
    tile_kernel *kernel;
    tile_diagnostics *said = NULL;
    must(tile_context_create(NULL, &context), NULL, "context");
    must(tile_device_open(context, 0, &device, &said), &said, "device");
    tile_compile_options options = options_of(source, device);
    options.plain_abi = true; /* the driver's process knows the source's parameters alone */
    must(tile_compile(context, &options, &kernel, &said), &said, "compile");
    tile_kernel_info info = {.size = sizeof info};
    must(tile_kernel_get_info(kernel, &info), NULL, "facts");
    tile_text cubin = tile_kernel_get_output(kernel, TILE_OUTPUT_CUBIN);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(cubin.data, 1, cubin.size, file) != cubin.size || fclose(file)) {
        perror(path);
        exit(1);
    }
    printf("%s %s %d %d\n", path, info.name.data, info.threads, info.shared_bytes);
    tile_kernel_destroy(kernel);
    tile_device_close(device);
    tile_context_destroy(context);
}

static void start_function(Stages *stages, const char *source) {
    tile_context *context;
    tile_device *device;
    tile_function *function;
    tile_diagnostics *said = NULL;
    const tile_argument arguments[] = {tile_pointer(0, TILE_FP32), tile_pointer(0, TILE_FP32),
                                       tile_int(0), tile_constexpr_int(BLOCK)};
    stages->begin = now_us();
    must(tile_context_create(NULL, &context), NULL, "context");
    stage(stages, "context");
    must(tile_device_open(context, 0, &device, &said), &said, "device");
    stage(stages, "device");
    tile_compile_options options = options_of(source, NULL);
    options.signature = text_of("");
    must(tile_function_create(context, &options, &function, &said), &said, "function");
    stage(stages, "function");
    must(tile_function_launch(function, device, grid, NULL, arguments, 4, &said), &said, "launch");
    stage(stages, "launch");
    must(tile_stream_synchronize(device, NULL, &said), &said, "kernel");
}

static void start_executable(Stages *stages, const char *source) {
    tile_context *context;
    tile_device *device;
    tile_kernel *kernel;
    tile_executable *executable;
    tile_diagnostics *said = NULL;
    Values values = {0};
    void *params[] = {&values.y, &values.x, &values.n};
    stages->begin = now_us();
    must(tile_context_create(NULL, &context), NULL, "context");
    stage(stages, "context");
    must(tile_device_open(context, 0, &device, &said), &said, "device");
    stage(stages, "device");
    const tile_compile_options options = options_of(source, device);
    must(tile_compile(context, &options, &kernel, &said), &said, "compile");
    stage(stages, "compile");
    must(tile_load(kernel, device, &executable, &said), &said, "load");
    stage(stages, "load");
    must(tile_launch(executable, grid, NULL, params, 3), NULL, "launch");
    stage(stages, "launch");
    must(tile_stream_synchronize(device, NULL, &said), &said, "kernel");
}

static char *read_file(const char *path) {
    enum { MOST = 1 << 24 };
    char *data = malloc(MOST);
    FILE *file = fopen(path, "rb");
    if (!data || !file || !fread(data, 1, MOST, file)) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return data;
}

static void start_driver(Stages *stages, char **arguments) {
    char *cubin = read_file(arguments[0]);
    const unsigned threads = (unsigned)atoi(arguments[2]), shared = (unsigned)atoi(arguments[3]);
    Cuda cuda;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    Values values = {0};
    void *params[] = {&values.y, &values.x, &values.n};
    stages->begin = now_us();
    cuda_load(&cuda);
    stage(stages, "dlopen");
    cuda_must(cuda.init(0), "cuInit");
    stage(stages, "init");
    cuda_must(cuda.device_get(&device, 0), "device");
    cuda_must(cuda.primary_retain(&context, device), "context");
    cuda_must(cuda.context_set(context), "context");
    stage(stages, "context");
    cuda_must(cuda.module_load(&module, cubin, 0, NULL, NULL), "module");
    cuda_must(cuda.module_function(&function, module, arguments[1]), "function");
    stage(stages, "load");
    cuda_must(cuda.launch(function, 1, 1, 1, threads, 1, 1, shared, NULL, params, NULL), "launch");
    stage(stages, "launch");
    cuda_must(cuda.context_wait(), "kernel");
    free(cubin);
}

int main(int argc, char **argv) {
    Stages stages = {0};
    if (argc == 4 && !strcmp(argv[1], "write")) {
        write_cubin(argv[2], argv[3]);
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "function"))
        start_function(&stages, argv[2]);
    else if (argc == 3 && !strcmp(argv[1], "executable"))
        start_executable(&stages, argv[2]);
    else if (argc == 6 && !strcmp(argv[1], "driver"))
        start_driver(&stages, argv + 2);
    else {
        fprintf(stderr, "usage: bench_start write|function|executable|driver ..; see its source\n");
        return 2;
    }
    print_stages(&stages);
    return 0;
}
