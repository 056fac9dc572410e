/* Tools run by posix_spawn: safe in programs with threads, and quick when the caller is large. */
#include "runtime/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_LIMIT = 1 << 20 };

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static const char *find_in(Arena *arena, Str folder, const char *name) {
    const char *path = str_format(arena, "%.*s/%s", STR_ARG(folder), name);
    return is_program(path) ? path : NULL;
}

static const char *find_on_path(Arena *arena, const char *name) {
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
    const char *found = find_on_path(arena, name);
    return found ? found : find_in(arena, STR("/usr/local/cuda/bin"), name);
}

/* Reads until the end into `buffer`; what does not fit is read and dropped, so that the writer goes
 * on. */
static size_t drain(int fd, char *buffer, size_t size) {
    size_t len = 0;
    char rest[4096];
    for (;;) {
        bool full = len == size;
        ssize_t n = full ? read(fd, rest, sizeof rest) : read(fd, buffer + len, size - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return len;
        if (!full)
            len += (size_t)n;
    }
}

/* Starts the program with standard output and standard error going to `fd`. The caller's signal
 * mask and handlers stay its own: the child begins with none blocked. */
static int spawn(const char *const *argv, int fd, pid_t *pid) {
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (!error)
            error = posix_spawn_file_actions_adddup2(&actions, fd, 1);
        if (!error)
            error = posix_spawn_file_actions_adddup2(&actions, fd, 2);
        if (!error)
            error = posix_spawn(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static void wait_for(pid_t pid, ProcessResult *result) {
    int status;
    pid_t got;
    do {
        got = waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    result->exit_code = got == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = got == pid && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int process_run(Arena *arena, const char *const *argv, ProcessResult *result) {
    *result = (ProcessResult){.exit_code = -1};
    char *buffer = arena_alloc(arena, OUTPUT_LIMIT);
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return errno;
    pid_t pid;
    int error = spawn(argv, fds[1], &pid);
    close(fds[1]);
    if (!error) {
        result->output = (Str){buffer, drain(fds[0], buffer, OUTPUT_LIMIT)};
        wait_for(pid, result);
    }
    close(fds[0]);
    return error;
}
