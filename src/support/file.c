/* Files. A temporary file's name is random and created exclusively: processes on several hosts that
 * share a network file system cannot meet in one name, as they could with process ids. */
#define _GNU_SOURCE
#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { READ_STEP = 64 * 1024, NAME_ATTEMPTS = 16 };

const char *file_error_text(Arena *arena, int error) {
    char text[128];
    return str_dup(arena, str_from(strerror_r(error, text, sizeof text)));
}

Str file_folder(Str path) {
    size_t len = path.len;
    while (len && path.ptr[len - 1] != '/')
        len--;
    while (len > 1 && path.ptr[len - 1] == '/')
        len--;
    return (Str){path.ptr, len};
}

Str file_name(Str path) {
    size_t at = path.len;
    while (at && path.ptr[at - 1] != '/')
        at--;
    return (Str){path.ptr + at, path.len - at};
}

char *file_join(Arena *arena, Str folder, Str name) {
    if (!folder.len || (name.len && name.ptr[0] == '/'))
        return str_dup(arena, name);
    const char *slash = folder.ptr[folder.len - 1] == '/' ? "" : "/";
    return str_format(arena, "%.*s%s%.*s", STR_ARG(folder), slash, STR_ARG(name));
}

/* Reads until `size` bytes or the end; the count goes to *got. */
static int read_bytes(int fd, char *data, size_t size, size_t *got) {
    *got = 0;
    while (*got < size) {
        ssize_t n = read(fd, data + *got, size - *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

int file_write_all(int fd, Str data) {
    for (size_t done = 0; done < data.len;) {
        ssize_t n = write(fd, data.ptr + done, data.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        done += (size_t)n;
    }
    return 0;
}

/* What was read, in a block of an allocator. */
typedef struct Buffer {
    const Allocator *allocator;
    char *data;
    size_t len, cap;
} Buffer;

static void buffer_free(Buffer *buffer) {
    allocator_give(buffer->allocator, buffer->data, buffer->cap);
}

/* Reads the whole stream: `expected` is a guess of its size. */
static int read_stream(int fd, size_t expected, size_t limit, Buffer *buffer) {
    size_t cap = expected < limit ? expected + 1 : limit + 1, len = 0;
    char *data = allocator_take(buffer->allocator, cap);
    for (int error = 0; data;) {
        size_t got;
        error = read_bytes(fd, data + len, cap - len, &got);
        len += got;
        if (!error && len > limit)
            error = EFBIG;
        if (error || len < cap) {
            buffer->data = data;
            buffer->len = len;
            buffer->cap = cap;
            return error;
        }
        size_t larger_cap = cap + (cap > READ_STEP ? cap : READ_STEP);
        if (larger_cap > limit + 1)
            larger_cap = limit + 1;
        char *larger = allocator_resize(buffer->allocator, data, cap, larger_cap);
        if (!larger)
            break;
        data = larger;
        cap = larger_cap;
    }
    allocator_give(buffer->allocator, data, cap);
    return ENOMEM;
}

/* The arena may jump away; who calls must not lose the heap block then. Apart from its caller,
 * whose variables setjmp would leave undefined. */
__attribute__((noinline)) static int copy_text(Arena *arena, Str found, Str *text) {
    jmp_buf *outer = arena->oom, here;
    if (setjmp(here)) {
        arena->oom = outer;
        return ENOMEM;
    }
    arena->oom = &here;
    *text = (Str){str_dup(arena, found), found.len};
    arena->oom = outer;
    return 0;
}

int file_read_open(Arena *arena, int fd, size_t limit, Str *text) {
    *text = (Str){"", 0};
    struct stat info;
    Buffer buffer = {.allocator = arena->allocator};
    int error = fstat(fd, &info) ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
    if (!error && S_ISREG(info.st_mode) && (uintmax_t)info.st_size > limit)
        error = EFBIG;
    if (!error)
        error = read_stream(fd, S_ISREG(info.st_mode) ? (size_t)info.st_size : READ_STEP, limit,
                            &buffer);
    close(fd);
    if (!error)
        error = copy_text(arena, (Str){buffer.data, buffer.len}, text);
    buffer_free(&buffer);
    return error;
}

int file_read(Arena *arena, const char *path, size_t limit, Str *text) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *text = (Str){"", 0};
    return fd < 0 ? errno : file_read_open(arena, fd, limit, text);
}

static uint64_t random_bits(void) {
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits)
        return bits;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 32 ^
           (uint64_t)now.tv_sec;
}

/* A file that is being written, in the folder where it will be. */
typedef struct Temporary {
    int folder;
    char name[sizeof FILE_TEMPORARY_PREFIX + 24]; /* "": it has none yet */
    int fd;
} Temporary;

static void make_name(Temporary *file) {
    snprintf(file->name, sizeof file->name, FILE_TEMPORARY_PREFIX "%016llx.tmp",
             (unsigned long long)random_bits());
}

static const char own_descriptors[] = "/proc/self/fd";

/* A new file, if possible one without a name, which nobody has to remove when this process is
 * killed. */
static int open_temporary(Temporary *file, unsigned mode) {
    *file->name = 0;
    file->fd = access(own_descriptors, X_OK)
                   ? -1
                   : openat(file->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    for (int attempt = 0; file->fd < 0 && attempt < NAME_ATTEMPTS; attempt++) {
        make_name(file);
        file->fd = openat(file->folder, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file->fd < 0 && errno != EEXIST)
            break;
    }
    return file->fd < 0 ? errno : 0;
}

/* Gives a file without a name one, from where it can be renamed over another. */
static int name_temporary(Temporary *file) {
    char self[sizeof own_descriptors + 16];
    snprintf(self, sizeof self, "%s/%d", own_descriptors, file->fd);
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        make_name(file);
        if (linkat(AT_FDCWD, self, file->folder, file->name, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    int error = errno;
    *file->name = 0;
    return error;
}

/* Makes a rename durable. File systems that cannot flush folders say EINVAL; the rename stands. */
static void flush_folder(int folder) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static int publish(Temporary *file, const char *name, Str data, bool durable) {
    int error = file_write_all(file->fd, data);
    if (!error && durable && fsync(file->fd) && errno != EINVAL)
        error = errno;
    if (!error && !*file->name)
        error = name_temporary(file);
    /* Network file systems report a full disk when the file is closed. */
    if (close(file->fd) && !error)
        error = errno;
    if (!error && renameat(file->folder, file->name, file->folder, name))
        error = errno;
    if (error && *file->name)
        unlinkat(file->folder, file->name, 0);
    if (!error && durable)
        flush_folder(file->folder);
    return error;
}

int file_write_at(int folder, const char *name, Str data, unsigned mode, bool durable) {
    Temporary file = {.folder = folder};
    int error = open_temporary(&file, mode);
    if (error)
        return error;
    fchmod(file.fd, mode); /* what cannot, has no modes */
    return publish(&file, name, data, durable);
}

static int write_directly(const char *path, Str data) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = file_write_all(fd, data);
    if (close(fd) && !error)
        error = errno;
    return error;
}

/* Where the file that `path` names is made: the folder, open, and the name in it; no folder (-1):
 * it exists and is written to directly. */
typedef struct Target {
    int folder;
    const char *name;
} Target;

static int open_target(Arena *arena, const char *path, Target *target) {
    struct stat info;
    char real[PATH_MAX];
    *target = (Target){-1, path};
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return EISDIR;
        if (!S_ISREG(info.st_mode))
            return 0;
        if (!realpath(path, real))
            return errno;
        path = str_dup(arena, str_from(real));
    }
    const Str folder = file_folder(str_from(path)), name = file_name(str_from(path));
    const char *folder_path = folder.len ? str_dup(arena, folder) : ".";
    if (!name.len)
        return ENOENT;
    *target = (Target){open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC), name.ptr};
    return target->folder < 0 ? errno : 0;
}

int file_write(Arena *arena, const char *path, Str data, bool durable) {
    Target target;
    int error = open_target(arena, path, &target);
    if (error)
        return error;
    if (target.folder < 0)
        return write_directly(path, data);
    Temporary file = {.folder = target.folder};
    error = open_temporary(&file, 0666);
    if (!error)
        error = publish(&file, target.name, data, durable);
    close(target.folder);
    return error;
}

int file_try_write(Arena *arena, const char *path) {
    Target target;
    int error = open_target(arena, path, &target);
    if (error)
        return error;
    if (target.folder < 0)
        return access(path, W_OK) ? errno : 0;
    Temporary file = {.folder = target.folder};
    error = open_temporary(&file, 0666);
    if (!error)
        close(file.fd);
    if (!error && *file.name)
        unlinkat(file.folder, file.name, 0);
    close(target.folder);
    return error;
}

int file_make_folder(Arena *arena, const char *path) {
    if (mkdir(path, 0777) == 0)
        return 0;
    int error = errno;
    struct stat info;
    if (error == EEXIST)
        return stat(path, &info) ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    Str parent = file_folder(str_from(path));
    if (error != ENOENT || !parent.len)
        return error;
    error = file_make_folder(arena, str_dup(arena, parent));
    if (error)
        return error;
    return mkdir(path, 0777) && errno != EEXIST ? errno : 0;
}
