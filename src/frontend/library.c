#include "frontend/library.h"

extern const char std_tile_text[], libdevice_tile_text[];
extern const unsigned std_tile_size, libdevice_tile_size;

static Str std_text(void) {
    return (Str){std_tile_text, std_tile_size};
}

static Str libdevice_text(void) {
    return (Str){libdevice_tile_text, libdevice_tile_size};
}

const Library libraries[LIBRARY_COUNT] = {
    [LIBRARY_STD] = {"<std.tile>", std_text},
    [LIBRARY_LIBDEVICE] = {"<libdevice.tile>", libdevice_text},
};
