/* Folders for the files that a tool reads and writes while it runs. */
#ifndef TILEC_RUNTIME_TOOLS_WORK_FOLDER_H
#define TILEC_RUNTIME_TOOLS_WORK_FOLDER_H
#include "support/ctx.h"

typedef struct WorkFolder {
    const char *path, *parent;
    int lock; /* a descriptor of the folder, locked as long as its owner lives */
} WorkFolder;

typedef bool WorkInFolder(Ctx *ctx, const WorkFolder *folder, void *user);

/* Makes TMPDIR/tilec-<user>/<random>, for this user alone, calls `work` and removes the folder with
 * what lies in it, also when `work` runs out of memory. Before, it removes folders there whose
 * owners were killed: those that nobody has locked and that are older than a minute. False after a
 * report, else what `work` returned. */
bool work_folder_use(Ctx *ctx, WorkInFolder *work, void *user);
/* Removes the folders in `parent` that are this user's, that nobody has locked, and that are older
 * than so many seconds. */
void work_folder_sweep(const char *parent, int seconds);
const char *work_file(Ctx *ctx, const WorkFolder *folder, const char *name);
/* A new file with this content, which is not flushed to disk. 0 or an errno. */
int work_file_write(const char *path, Str data);
#endif
