/* Folders of sources: which files they have, and which of them has a kernel. */
#ifndef TILEC_RUNTIME_COMPILE_FOLDER_H
#define TILEC_RUNTIME_COMPILE_FOLDER_H
#include "runtime/compile/compile.h"

typedef VEC(Str) FolderFiles;

/* Whether a path is that of a folder, seen from request->folder. */
bool folder_is(Ctx *ctx, const CompileRequest *request);
/* The .tile and .py files of request->path and of the folders in it, in the order of their paths,
 * which begin with request->path; what begins with a dot, __pycache__ and links to folders are left
 * out. False after a report. */
bool folder_files(Ctx *ctx, const CompileRequest *request, FolderFiles *files);

/* The request; where its path is a folder, with that of the one file in which the kernel is
 * defined. NULL after a report: it is in none, or in several, or no kernel was named. */
const CompileRequest *folder_resolve(Ctx *ctx, const CompileRequest *request);
#endif
