/* See imports.h. */
#include "frontend/imports.h"

#include "support/file.h"

typedef struct Search {
    Arena *arena;
    ImportLook *look;
    void *user;
} Search;

/* folder/a/b.tile, folder/a/b.py, folder/a/b/__init__.py for module a.b */
static bool find_in_folder(const Search *search, Str folder, Str module) {
    static const char *const endings[] = {".tile", ".py", "/__init__.tile", "/__init__.py"};
    char *relative = str_dup(search->arena, module);
    for (char *c = relative; *c; c++)
        if (*c == '.')
            *c = '/';
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const Str name = str_from(str_format(search->arena, "%s%s", relative, endings[i]));
        if (search->look(search->user, file_join(search->arena, folder, name), name))
            return true;
    }
    return false;
}

Str import_first_component(Str module) {
    const char *dot = module.len ? memchr(module.ptr, '.', module.len) : NULL;
    return dot ? (Str){module.ptr, (size_t)(dot - module.ptr)} : module;
}

/* The folder that holds the package `name` in which a file in `folder` lies; false: in no such
 * package. */
static bool package_root(Str folder, Str name, Str *root) {
    for (Str at = folder; at.len && !str_is(at, "/"); at = file_folder(at)) {
        if (str_eq(file_name(at), name)) {
            *root = file_folder(at);
            return true;
        }
    }
    return false;
}

/* The folder above; of one that ends by going up, with another step. */
static Str parent_folder(Arena *arena, Str folder) {
    Str name = file_name(folder);
    if (folder.len && !str_is(name, "..") && !str_is(name, "."))
        return file_folder(folder);
    return str_from(file_join(arena, folder, STR("..")));
}

bool import_find(Arena *arena, Str from, Str module, const Str *search_paths, uint32_t count,
                 ImportLook *look, void *user) {
    const Search search = {arena, look, user};
    Str folder = file_folder(from), root;
    if (!module.len)
        return false;
    size_t dots = 0;
    while (dots < module.len && module.ptr[dots] == '.')
        dots++;
    Str rest = {module.ptr + dots, module.len - dots};
    if (dots) {
        for (size_t i = 1; i < dots; i++)
            folder = parent_folder(arena, folder);
        return find_in_folder(&search, folder, rest.len ? rest : STR("__init__"));
    }
    bool found = find_in_folder(&search, folder, module);
    if (!found && package_root(folder, import_first_component(module), &root))
        found = find_in_folder(&search, root, module);
    for (uint32_t i = 0; !found && i < count; i++)
        found = find_in_folder(&search, search_paths[i], module);
    return found;
}
