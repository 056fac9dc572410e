/* Where tools lie. */
#include "runtime/tools/process.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool tool_is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static const char *find_in(Arena *arena, Str folder, const char *name) {
    const char *path = str_format(arena, "%.*s/%s", STR_ARG(folder), name);
    return tool_is_program(path) ? path : NULL;
}

const char *tool_find_on_path(Arena *arena, const char *name) {
    const char *path = getenv("PATH");
    while (path && *path) {
        Str folder = {path, strcspn(path, ":")};
        path += folder.len + (path[folder.len] == ':');
        const char *found = find_in(arena, folder.len ? folder : STR("."), name);
        if (found)
            return found;
    }
    return NULL;
}

const char *tool_find(Arena *arena, const char *name, const char *variable) {
    const char *named = variable ? getenv(variable) : NULL;
    if (named && *named)
        return str_dup(arena, str_from(named));
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        const char *home = getenv(homes[i]);
        const char *found = home && *home
                                ? find_in(arena, str_from(str_format(arena, "%s/bin", home)), name)
                                : NULL;
        if (found)
            return found;
    }
    const char *found = tool_find_on_path(arena, name);
    return found ? found : find_in(arena, STR("/usr/local/cuda/bin"), name);
}
