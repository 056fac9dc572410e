/* Files: read whole, published atomically.
 *
 * Functions return 0 or an errno value; `file_error_text` puts it into words. Texts that are
 * returned lie in the arena; no descriptor is open while the arena allocates, so that running out
 * of memory leaks nothing. */
#ifndef TILEC_SUPPORT_FILE_H
#define TILEC_SUPPORT_FILE_H
#include "support/str.h"

/* Reads a file of at most `limit` bytes (EFBIG beyond). The text is terminated. Pipes and devices
 * are read to their end. EISDIR for a folder. */
int file_read(Arena *arena, const char *path, size_t limit, Str *text);

/* The same of an open descriptor, which is closed in any case. */
int file_read_open(Arena *arena, int fd, size_t limit, Str *text);

/* Makes `path` hold `data`, all or nothing: a temporary file in the same folder is written and
 * renamed over it. With `durable`, file and folder are flushed to disk, so that a machine that
 * stops leaves the old content or the new. A symbolic link keeps pointing where it pointed; a path
 * that exists and is no regular file (/dev/null, a pipe) is written to directly. */
int file_write(Arena *arena, const char *path, Str data, bool durable);

/* 0, or what file_write would return now, as far as that shows without data. Leaves nothing. */
int file_try_write(Arena *arena, const char *path);

/* file_write in an open folder: `name` is in the folder itself, a link of that name is replaced,
 * and the file has exactly `mode`, whatever the umask. Allocates nothing. */
int file_write_at(int folder, const char *name, Str data, unsigned mode, bool durable);

/* Writes all of `data` to a descriptor. */
int file_write_all(int fd, Str data);

/* Creates a folder and those above it. 0 when it exists already. */
int file_make_folder(Arena *arena, const char *path);

/* What an errno value means. */
const char *file_error_text(Arena *arena, int error);

/* "folder/name"; `name` alone if it is absolute or the folder empty. */
char *file_join(Arena *arena, Str folder, Str name);
/* The part of a path before its last slash: "" when there is none, "/" for the root. */
Str file_folder(Str path);
/* The part after the last slash. */
Str file_name(Str path);

/* Names of temporary files begin with this, wherever they are made. */
#define FILE_TEMPORARY_PREFIX ".tilec-"
#endif
