/* The part of the language that is written in the language. */
#ifndef TILEC_FRONTEND_LIBRARY_H
#define TILEC_FRONTEND_LIBRARY_H
#include "support/str.h"

typedef enum LibraryFile {
    LIBRARY_STD,       /* std.tile */
    LIBRARY_LIBDEVICE, /* libdevice*.tile, as one: what libdevice alone has */
    LIBRARY_COUNT
} LibraryFile;

typedef struct Library {
    const char *path; /* as messages would name it */
    Str (*text)(void);
} Library;
extern const Library libraries[LIBRARY_COUNT];
#endif
