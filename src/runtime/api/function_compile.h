/* Functions that are compiled when they are called, as their files share them. */
#ifndef TILEC_RUNTIME_API_FUNCTION_COMPILE_H
#define TILEC_RUNTIME_API_FUNCTION_COMPILE_H
#include "runtime/api/api_compile.h"
#include "runtime/api/derive.h"
#include "runtime/api/function.h"
#include "runtime/data/grid.h"

typedef struct CompiledFunction {
    tile_function function;       /* first: what the API hands out */
    tile_compile_options options; /* texts in the arena */
    bool has_file;                /* the source was read from its path */
    Derivation derivation;
    GridProgram grid;            /* of the options */
    KeyTableRoot choices;        /* of configurations; there where there are any */
    pthread_mutex_t tuning_lock; /* of who chooses */
    KeyTableRoot hosts;          /* of instances on devices that are this machine; NULL: none */
    struct HostInstance *forgotten_hosts;
} CompiledFunction;

/* The function's request with a call's types and constexprs added by name, and what `derivation`,
 * the function's or one that forces a configuration, says of it. False after a report. */
bool function_request(Call *call, const CompiledFunction *function, const Asked *asked,
                      const Derivation *derivation, CompileRequest *request);
/* See CallOnHost, ForgetOnHost; what was made so far. */
CallOnHost function_call_host;
ForgetOnHost function_forget_host;
void function_host_destroy(CompiledFunction *function);
/* See FindKernel. */
FindKernel function_kernel;
/* Chooses among the function's configurations for a call; see TuneCall. */
ChooseConfig function_tune;
/* See GridOfCall, ReportUnderived. */
GridOfCall function_grid;
ReportUnderived function_report_underived;
#endif
