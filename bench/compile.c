/* Milliseconds from .tile to PTX inside a process that compiles again and again, nothing cached.
 *
 *     bench_compile FILE.tile KERNEL SIGNATURE
 *
 * Prints {"first_ms": .., "median_ms": .., "least_ms": ..}: the first compilation sets LLVM up. */
#include "common.h"

enum { SAMPLES = 41 };

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: bench_compile FILE.tile KERNEL SIGNATURE\n");
        return 2;
    }
    tile_context *context;
    must(tile_context_create(NULL, &context), NULL, "context");
    tile_compile_options options = {.size = sizeof options,
                                    .path = text_of(argv[1]),
                                    .kernel = text_of(argv[2]),
                                    .signature = text_of(argv[3]),
                                    .target = text_of("sm_90a"),
                                    .want = TILE_WANT(TILE_OUTPUT_PTX),
                                    .no_cache = true};
    double samples[SAMPLES], first = 0;
    for (int i = -1; i < SAMPLES; i++) {
        tile_kernel *kernel;
        tile_diagnostics *diagnostics = NULL;
        double begin = now_us();
        tile_status status = tile_compile(context, &options, &kernel, &diagnostics);
        double ms = (now_us() - begin) * 1e-3;
        must(status, diagnostics, "compile");
        tile_diagnostics_destroy(diagnostics);
        tile_kernel_destroy(kernel);
        if (i < 0)
            first = ms;
        else
            samples[i] = ms;
    }
    double middle = median(samples, SAMPLES);
    printf("{\"first_ms\": %.3f, \"median_ms\": %.3f, \"least_ms\": %.3f}\n", first, middle,
           samples[0]);
    tile_context_destroy(context);
    return 0;
}
