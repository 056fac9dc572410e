/* Milliseconds from .tile to PTX inside a process that compiles again and again, nothing cached.
 *
 *     bench_compile FILE.tile KERNEL SIGNATURE [OPTIONS]
 *
 * -a NAME=TYPE, -D NAME=LITERAL, --target SM, --num-warps N and --num-stages N mean what they do to
 * `tilec compile`; --samples N compilations are timed; -o FILE keeps the PTX. Prints {"first_ms":
 * .., "median_ms": .., "least_ms": .., "median_cpu_ms": .., "least_cpu_ms": ..}: the first
 * compilation sets LLVM up; the last two are the process's processor time, which other programs
 * disturb less: the library compiles on a thread of its own. */
#include "common.h"

enum { MOST_NAMED = 64, MOST_SAMPLES = 1000 };

typedef struct Arguments {
    tile_compile_options options;
    tile_named types[MOST_NAMED], constexprs[MOST_NAMED];
    int samples;
    const char *output;
} Arguments;

static void usage(void) {
    fprintf(stderr,
            "usage: bench_compile FILE.tile KERNEL SIGNATURE [-a NAME=TYPE] [-D NAME=LITERAL]\n"
            "       [--target SM] [--num-warps N] [--num-stages N] [--samples N] [-o FILE]\n");
    exit(2);
}

static double cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void add_named(tile_named *list, size_t *count, const char *text) {
    const char *equals = strchr(text, '=');
    if (!equals || *count == MOST_NAMED)
        usage();
    list[(*count)++] = (tile_named){{text, (size_t)(equals - text)}, text_of(equals + 1)};
}

static void read_arguments(Arguments *a, int argc, char **argv) {
    if (argc < 4 || argc % 2)
        usage();
    tile_compile_options *o = &a->options;
    *o = (tile_compile_options){.size = sizeof *o,
                                .path = text_of(argv[1]),
                                .kernel = text_of(argv[2]),
                                .signature = text_of(argv[3]),
                                .types = a->types,
                                .constexprs = a->constexprs,
                                .target = text_of("sm_90a"),
                                .want = TILE_WANT(TILE_OUTPUT_PTX),
                                .no_cache = true};
    a->samples = 41;
    for (int i = 4; i < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "-a"))
            add_named(a->types, &o->type_count, value);
        else if (!strcmp(name, "-D"))
            add_named(a->constexprs, &o->constexpr_count, value);
        else if (!strcmp(name, "--target"))
            o->target = text_of(value);
        else if (!strcmp(name, "--num-warps"))
            o->num_warps = atoi(value);
        else if (!strcmp(name, "--num-stages"))
            o->num_stages = atoi(value);
        else if (!strcmp(name, "--samples"))
            a->samples = atoi(value);
        else if (!strcmp(name, "-o"))
            a->output = value;
        else
            usage();
    }
    if (a->samples < 1 || a->samples > MOST_SAMPLES)
        usage();
}

static void keep_ptx(const tile_kernel *kernel, const char *path) {
    tile_text ptx = tile_kernel_get_output(kernel, TILE_OUTPUT_PTX);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(ptx.data, 1, ptx.size, file) != ptx.size || fclose(file)) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv) {
    static Arguments arguments;
    static double wall[MOST_SAMPLES], cpu[MOST_SAMPLES];
    read_arguments(&arguments, argc, argv);
    tile_context *context;
    must(tile_context_create(NULL, &context), NULL, "context");
    double first = 0;
    for (int i = -1; i < arguments.samples; i++) {
        tile_kernel *kernel;
        tile_diagnostics *diagnostics = NULL;
        double begin = now_us(), cpu_begin = cpu_us();
        tile_status status = tile_compile(context, &arguments.options, &kernel, &diagnostics);
        double cpu_ms = (cpu_us() - cpu_begin) * 1e-3, ms = (now_us() - begin) * 1e-3;
        must(status, &diagnostics, "compile");
        if (i < 0 && arguments.output)
            keep_ptx(kernel, arguments.output);
        tile_diagnostics_destroy(diagnostics);
        tile_kernel_destroy(kernel);
        if (i < 0) {
            first = ms;
        } else {
            wall[i] = ms;
            cpu[i] = cpu_ms;
        }
    }
    double middle = median(wall, (size_t)arguments.samples);
    double cpu_middle = median(cpu, (size_t)arguments.samples);
    printf("{\"first_ms\": %.3f, \"median_ms\": %.3f, \"least_ms\": %.3f, \"median_cpu_ms\": %.3f, "
           "\"least_cpu_ms\": %.3f}\n",
           first, middle, wall[0], cpu_middle, cpu[0]);
    tile_context_destroy(context);
    return 0;
}
