/* A lock says whose folder still has an owner: the kernel drops it with the process, which an age
 * or a process id, that may mean another process on another host, does not tell. */
#include "runtime/tools/work_folder.h"

#include "support/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Between a folder's making and its locking; far less in truth. */
enum { UNLOCKED_SECONDS = 60, ATTEMPTS = 1000 };

static int open_folder(int parent, const char *name) {
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Files only: a tool gets no folder to make others in. */
static void remove_files(int folder) {
    DIR *dir = fdopendir(fcntl(folder, F_DUPFD_CLOEXEC, 0));
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(folder, entry->d_name, 0);
    if (dir)
        closedir(dir);
}

static bool is_ours(int fd, struct stat *info) {
    return fstat(fd, info) == 0 && info->st_uid == geteuid();
}

void work_folder_sweep(const char *parent, int seconds) {
    int parent_fd = open_folder(AT_FDCWD, parent);
    DIR *dir = parent_fd >= 0 ? fdopendir(fcntl(parent_fd, F_DUPFD_CLOEXEC, 0)) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat info;
        int folder = entry->d_name[0] == '.' ? -1 : open_folder(parent_fd, entry->d_name);
        if (folder >= 0 && is_ours(folder, &info) && time(NULL) - info.st_ctim.tv_sec > seconds &&
            flock(folder, LOCK_EX | LOCK_NB) == 0) {
            remove_files(folder);
            unlinkat(parent_fd, entry->d_name, AT_REMOVEDIR);
        }
        if (folder >= 0)
            close(folder);
    }
    if (dir)
        closedir(dir);
    if (parent_fd >= 0)
        close(parent_fd);
}

/* The user's folder may have been made by somebody else, who could then exchange what lies in it.
 */
static int make_parent(const char *path) {
    struct stat info;
    if (mkdir(path, 0700) && errno != EEXIST)
        return errno;
    if (lstat(path, &info))
        return errno;
    bool safe = S_ISDIR(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 022);
    return safe ? 0 : EPERM;
}

/* The parent goes with the last folder in it, at any moment. A template serves for one call of
 * mkdtemp, which leaves it without its Xs when it fails. */
static int make_folder(Arena *arena, WorkFolder *folder) {
    int error = ENOENT;
    for (int attempt = 0; error == ENOENT && attempt < ATTEMPTS; attempt++) {
        char *path = str_format(arena, "%s/XXXXXX", folder->parent);
        error = make_parent(folder->parent);
        if (!error && !mkdtemp(path))
            error = errno;
        folder->path = path;
    }
    return error;
}

static bool open_work_folder(Ctx *ctx, WorkFolder *folder) {
    Arena *arena = &ctx->arena;
    const char *root = getenv("TMPDIR");
    folder->parent =
        str_format(arena, "%s/tilec-%u", root && *root ? root : "/tmp", (unsigned)geteuid());
    work_folder_sweep(folder->parent, UNLOCKED_SECONDS);
    int error = make_folder(arena, folder);
    if (error)
        return ctx_diag(ctx, (Span){0}, folder_unwritable, folder->parent,
                        file_error_text(arena, error));
    folder->lock = open_folder(AT_FDCWD, folder->path);
    if (folder->lock >= 0)
        flock(folder->lock, LOCK_EX | LOCK_NB);
    return true;
}

static void close_work_folder(const WorkFolder *folder) {
    if (folder->lock >= 0) {
        remove_files(folder->lock);
        close(folder->lock);
    }
    rmdir(folder->path);
    rmdir(folder->parent);
}

typedef struct FolderUse {
    Ctx *ctx;
    WorkFolder folder;
    WorkInFolder *work;
    void *user;
    bool ok;
} FolderUse;

static void work_in_folder(void *user) {
    FolderUse *use = user;
    use->ok = use->work(use->ctx, &use->folder, use->user);
}

static void leave_folder(void *user) {
    const FolderUse *use = user;
    close_work_folder(&use->folder);
}

bool work_folder_use(Ctx *ctx, WorkInFolder *work, void *user) {
    FolderUse use = {.ctx = ctx, .work = work, .user = user};
    if (!open_work_folder(ctx, &use.folder))
        return false;
    ctx_finally(ctx, work_in_folder, leave_folder, &use);
    return use.ok;
}

const char *work_file(Ctx *ctx, const WorkFolder *folder, const char *name) {
    return str_format(&ctx->arena, "%s/%s", folder->path, name);
}

int work_file_write(const char *path, Str data) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int error = file_write_all(fd, data);
    if (close(fd) && !error)
        error = errno;
    return error;
}
