/* The remote of a build without Redis: it says so. */
#include "runtime/cache/remote.h"

Remote *remote_open(Arena *arena, const RemoteConfig *config, const char **trouble) {
    *trouble = "this build has no client for Redis (TILEC_REDIS)";
    return NULL;
}

void remote_close(Remote *remote) {}

bool remote_get(Remote *remote, Arena *arena, const char *name, Str *blob) {
    return false;
}

void remote_put(Remote *remote, Arena *arena, const char *name, Str blob) {}

RemoteTurn remote_lease_take(Remote *remote, const char *name, RemoteLease *lease) {
    return REMOTE_NONE;
}

void remote_lease_end(Remote *remote, const char *name, RemoteLease *lease) {}

bool remote_answers(Remote *remote) {
    return false;
}

const char *remote_address(const Remote *remote) {
    return "";
}

bool remote_take_trouble(Remote *remote, char *text, size_t size) {
    return false;
}
