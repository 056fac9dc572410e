/* Tools of the machine: finding and running them. */
#ifndef TILEC_RUNTIME_PROCESS_H
#define TILEC_RUNTIME_PROCESS_H
#include "support/str.h"

/* Where a tool of the CUDA toolkit lies: the environment variable `variable` (may be NULL) if set,
 * else bin/ of CUDA_HOME and CUDA_PATH, the folders of PATH, /usr/local/cuda/bin. NULL: nowhere.
 * A tool that the variable names is returned unseen, so that using it reports what is wrong. */
const char *tool_find(Arena *arena, const char *name, const char *variable);

typedef struct ProcessResult {
    Str output;    /* standard output and standard error as they came, at most 1 MiB */
    int exit_code; /* -1: ended by a signal, or unknown */
    int signal;    /* that ended it; 0: none */
} ProcessResult;

/* Runs a program to its end, its standard input empty. 0 or an errno. Safe in any thread. */
int process_run(Arena *arena, const char *const *argv, ProcessResult *result);
#endif
