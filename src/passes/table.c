/* The tables of passes and of the steps of the pipeline. */
#include "passes/passes.h"

const PassInfo pass_info[PASS_COUNT] = {
#define PASS(id, text, summary, requires, ensures, clears)                                         \
    {text, summary, pass_##id, requires, ensures, clears},
#include "passes/passes.def"
};

const PipelineStep pipeline_steps[PIPELINE_STEPS] = {
#define STEP(pass, condition) {PASS_##pass, PIPELINE_##condition},
#include "passes/pipeline.def"
};

PassId pass_find(Str name) {
    for (int i = 0; i < PASS_COUNT; i++)
        if (str_is(name, pass_info[i].name))
            return (PassId)i;
    return PASS_COUNT;
}
