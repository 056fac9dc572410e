/* Where modules lie that a file imports: one rule for who reads them the first time and for who
 * checks that they are still what they were. */
#ifndef TILEC_FRONTEND_IMPORTS_H
#define TILEC_FRONTEND_IMPORTS_H
#include "support/str.h"

/* `path` may be the module; `name` is its part below the folder in which modules are looked for.
 * True: it is. */
typedef bool ImportLook(void *user, const char *path, Str name);

/* Goes through the places of `module` ("a.b", "..c") in order, for a file of path `from`, until
 * one is it; false: none is. */
bool import_find(Arena *arena, Str from, Str module, const Str *search_paths, uint32_t count,
                 ImportLook *look, void *user);
/* "a" of "a.b". */
Str import_first_component(Str module);
#endif
