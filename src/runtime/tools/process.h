/* Tools of the machine: finding and running them. */
#ifndef TILEC_RUNTIME_TOOLS_PROCESS_H
#define TILEC_RUNTIME_TOOLS_PROCESS_H
#include "support/str.h"

/* Where a tool of the CUDA toolkit lies: the environment variable `variable` (may be NULL) if set,
 * else bin/ of CUDA_HOME and CUDA_PATH, the folders of PATH, /usr/local/cuda/bin. NULL: nowhere.
 * A tool that the variable names is returned unseen, so that using it reports what is wrong. */
const char *tool_find(Arena *arena, const char *name, const char *variable);
/* The program of that name in the folders of PATH; NULL: in none. */
const char *tool_find_on_path(Arena *arena, const char *name);
bool tool_is_program(const char *path);

/* What a program may take when nobody says otherwise: ten minutes, several times what ptxas needs
 * for the largest kernels seen. */
enum { PROCESS_TIME_LIMIT_MS = 600 * 1000 };

typedef struct ProcessRequest {
    const char *const *argv; /* argv[0] is the program's path; the last one is NULL */
    double time_limit_ms;    /* 0: PROCESS_TIME_LIMIT_MS */
    double grace_ms;         /* between asking it to end, by SIGTERM, and killing it; 0: killed */
    int input, output;       /* standard input and output; 0: empty, and captured */
} ProcessRequest;

typedef struct ProcessResult {
    Str output;     /* standard output and standard error as they came, at most 1 MiB */
    int exit_code;  /* -1: ended by a signal */
    int signal;     /* that ended it; 0: none */
    bool timed_out; /* it was ended when its time was over */
    bool cancelled; /* it was ended when the arena's work was cancelled */
} ProcessResult;

/* Runs a program to its end. It is in a process group of its own, which ends with it, with its
 * time, when what works in the arena is cancelled, and with this process, however that one ends.
 * Signal masks, handlers and children of this process are untouched, and what it does with SIGCHLD
 * does not matter. The calling thread acts on no signal meanwhile: one that is to end this process
 * is for another thread, such as that which waits in stack_run. 0 or an errno. Any thread. */
int process_run(Arena *arena, const ProcessRequest *request, ProcessResult *result);
#endif
