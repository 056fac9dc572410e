/* Many files checked, each in a context of its own, on several threads. */
#ifndef TILEC_CLI_CHECK_H
#define TILEC_CLI_CHECK_H
#include "cli/kernel_options.h"

typedef enum Checked { CHECKED_PARSED, CHECKED_TYPED, CHECKED_WRONG, CHECKED_COUNT } Checked;

typedef struct CheckedKernel {
    Str name;
    Checked checked;
} CheckedKernel;

typedef struct CheckedFile {
    Str path;
    Str text;      /* ptr NULL: read */
    bool may_lack; /* it is no error that it has no kernel, or not the wanted one */
    /* Afterwards: */
    bool passed_over; /* because of that */
    bool has_wanted;  /* the kernel that -k names */
    bool no_memory;
    bool unread; /* it could not be read, or checked for want of memory */
    Ctx *kept;   /* what is said of it, and the names; NULL when there was no memory for that */
    VEC(CheckedKernel) kernels;
    int status; /* ExitStatus */
} CheckedFile;

typedef VEC(CheckedFile) CheckedFiles;

/* The files that arguments name, in their order, each once: of folders those in them. False after a
 * report. A path "-" has the request's text. */
bool check_collect(Ctx *ctx, const TextList *arguments, const CompileRequest *request,
                   CheckedFiles *files);

/* Checks every file by the request with its path and text, up to `jobs` of them at once; 0: as many
 * as there are processors. */
void check_files(Ctx *ctx, const CompileRequest *request, unsigned jobs, CheckedFiles *files);
void check_release(const CheckedFiles *files);

/* Whether types were given, for one kernel. */
static inline bool check_has_types(const ElaborateRequest *given) {
    return given->signature.len || given->type_count || given->define_count;
}
#endif
