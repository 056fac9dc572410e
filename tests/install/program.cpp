// A C++ program: asks for a kernel with a mistake in it and shows what the library says.
#include <cstdio>
#include <cstring>
#include <tilec.h>

int main() {
    tile_context *context = nullptr;
    if (tile_context_create(nullptr, &context) != TILE_OK)
        return 1;
    const char *source = "@triton.jit\ndef f(x):\n    tl.store(x, y)\n";
    tile_compile_options options{};
    options.size = sizeof options;
    options.path = {"f.tile", 6};
    options.source = {source, std::strlen(source)};
    options.signature = {"*fp32", 5};
    options.want = TILE_WANT(TILE_OUTPUT_PTX);
    tile_kernel *kernel = nullptr;
    tile_diagnostics *diagnostics = nullptr;
    tile_status status = tile_compile(context, &options, &kernel, &diagnostics);
    tile_diagnostic first{};
    first.size = sizeof first;
    if (status != TILE_ERROR_SOURCE || kernel ||
        tile_diagnostics_get(diagnostics, 0, &first) != TILE_OK)
        return 1;
    std::printf("%s:%u:%u: %s\n", first.path.data, first.line, first.column, first.message.data);
    tile_diagnostics_destroy(diagnostics);
    tile_context_destroy(context);
    return first.line == 3 ? 0 : 1;
}
