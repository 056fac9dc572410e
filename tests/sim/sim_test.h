/* What the tests of the simulator share: running small PTX texts on arrays. */
#ifndef TILEC_TESTS_SIM_TEST_H
#define TILEC_TESTS_SIM_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/sim.h"

#define PTX_HEADER ".version 8.6\n.target sm_90a\n.address_size 64\n"

typedef struct SimArrayArg {
    const char *name;
    void *data;
    uint64_t bytes;
    uint8_t *defined;
} SimArrayArg;

/* A context, and what the last run said. */
typedef struct SimTest {
    Ctx *ctx;
    SimModule *module;
    SimCounts *counts;
    StrBuf output;
} SimTest;

SimTest sim_test_begin(void);
void sim_test_end(SimTest *test);
/* Parses a text; NULL after messages. */
SimModule *sim_test_parse(SimTest *test, const char *text);
/* Runs the only kernel of the module, whose parameters are the arrays in order. */
bool sim_test_run(SimTest *test, SimLaunch launch, const SimArrayArg *arrays, uint32_t count);
/* A planted fault: the sound version has no findings, the faulty one this one, in every schedule.
 * Kernels take the addresses of two arrays of 64 words, whose values are their indices. */
typedef struct SimFault {
    const char *name, *sound, *faulty;
    DiagId id;
    const char *message; /* part of what is said */
    uint32_t threads, programs, cluster;
} SimFault;
void sim_test_faults(const SimFault *faults, size_t count);
/* Runs one text of a planted fault in one schedule; true without findings. */
bool sim_test_version(SimTest *test, const SimFault *fault, const char *text, SimSchedule schedule);

/* A kernel of CASE_THREADS threads that takes the address of two words for each, 0 in the
 * beginning: what each thread leaves in its word of the first half, in every schedule. The launch
 * says what else the kernel needs; its block, seed and limit of steps are set here. */
enum { CASE_THREADS = 64 };
typedef struct SimCase {
    const char *name, *text;
    uint32_t (*expect)(uint32_t thread);
} SimCase;
void sim_test_threads(const SimCase *one, SimLaunch launch);

/* An instruction, in a kernel of the declarations, that the reader refuses with a message. */
typedef struct SimRefusal {
    const char *text, *message; /* message: part of what is said */
} SimRefusal;
void sim_test_refusals(const char *declarations, const SimRefusal *refusals, size_t count);

/* The messages so far, as printed. */
const char *sim_test_messages(SimTest *test);
/* Whether a message of that id was given. */
bool sim_test_has(const SimTest *test, DiagId id);
#endif
