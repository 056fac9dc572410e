/* A C program as a user of libtilec-run would write it: opens a bundle and prints what it has. */
#include <stdio.h>
#include <string.h>
#include <tilec.h>

int main(int argc, char **argv) {
    tile_context *context = NULL;
    tile_bundle *bundle = NULL;
    tile_diagnostics *diagnostics = NULL;
    const tile_bundle_options options = {.size = sizeof options,
                                         .path = {argv[argc - 1], strlen(argv[argc - 1])}};
    if (tile_context_create(NULL, &context) != TILE_OK)
        return 1;
    tile_status status = tile_bundle_open(context, &options, &bundle, &diagnostics);
    if (status != TILE_OK) {
        fprintf(stderr, "%s\n%s", tile_status_text(status),
                tile_diagnostics_text(diagnostics).data);
        return 1;
    }
    const tile_kernel *kernel = NULL;
    for (size_t i = 0; tile_bundle_get_variant(bundle, i, &kernel, NULL) == TILE_OK; i++) {
        tile_kernel_info info = {.size = sizeof info};
        if (tile_kernel_get_info(kernel, &info) != TILE_OK)
            return 1;
        printf("%s for %s: %d threads\n", info.name.data, info.target.data, info.threads);
    }
    tile_bundle_close(bundle);
    tile_context_destroy(context);
    return kernel ? 0 : 1;
}
