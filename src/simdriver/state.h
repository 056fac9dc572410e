/* The state of the driver: a process has one, as it has one of NVIDIA's.
 *
 * One lock guards all of it and is held while a kernel runs: launches of several threads and
 * streams happen one after another, in the order of their calls, and have ended when the call
 * returns. */
#ifndef TILEC_SIMDRIVER_STATE_H
#define TILEC_SIMDRIVER_STATE_H
#include "runtime/driver/cuda_types.h"
#include "sim/sim.h"
#include "simdriver/settings.h"
#include "support/c_locale.h"

#include <sys/types.h>

/* Errors that the runtime gives no meaning of their own; its others are in cuda_types.h and
 * faults.def. */
enum { CUDA_INVALID_CONTEXT = 201, CUDA_INVALID_HANDLE = 400, CUDA_NOT_FOUND = 500 };
enum {
#define FAULT(ours, theirs, value, lost, status, hint) ours = value,
#include "runtime/driver/faults.def"
};

enum { MAX_THREADS = 1024 }; /* of a block */

#define EXPORT __attribute__((visibility("default")))
#define DRIVER(field, symbol, parameters)                                                          \
    EXPORT CUresult simulated_##field parameters __asm__(symbol);
#include "runtime/driver/driver.def"
#define DRIVER(field, symbol, parameters)                                                          \
    EXPORT CUresult simulated_##field parameters __asm__(symbol);
#include "simdriver/more.def"

/* Device memory of one cuMemAlloc. */
typedef struct Block {
    struct Block *next;
    uint64_t address;
    size_t bytes;
    uint8_t *data, *defined;
} Block;

struct CUfunc_st {
    struct CUfunc_st *next;
    CUmodule module;
    SimKernel kernel;
    uint32_t registers;
    int max_dynamic_shared; /* bytes that a launch may ask for */
};

struct CUmod_st {
    struct CUmod_st *next;
    Ctx *ctx; /* of its own, which holds all of it */
    SimModule *module;
    uint32_t slot;
    CUfunction functions; /* that were asked for */
};

/* What the primary context has. */
typedef struct Primary {
    unsigned retains; /* 0: there is no context */
    unsigned long long id;
    CUresult fault; /* of a kernel: what every call gives from then on */
    Ctx *ctx;       /* of `memory` */
    SimMemory *memory;
    Block *blocks;
    size_t used; /* bytes */
    unsigned named;
    struct CUmod_st *modules;
    uint8_t slots[SIM_SLOTS]; /* taken by a module */
} Primary;

typedef struct SimDriver {
    Settings settings;
    Primary primary;
    locale_t locale; /* of the thread that has the lock, while it has it */
} SimDriver;

/* Whether this process has initialised the driver. Its children have not, and the lock may be one
 * that nobody gives back there: every function asks first. */
bool state_is_begun(void);
/* Reads the settings and begins, once. */
CUresult state_begin(void);
/* Takes the lock, in a process that has begun; NULL: it has not. To be given back by state_leave.
 */
SimDriver *state_lock(void);
/* The same for functions that work in the current context: NULL, and nothing locked, if there is
 * none, or it is lost; `*result` says why. */
SimDriver *state_enter(CUresult *result);
/* Gives the lock back; the result is handed through. */
CUresult state_leave(CUresult result);

/* The primary context as a handle, whether or not it exists. */
CUcontext state_context(void);
/* A line on stderr, of a call that is wrong. */
void state_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What a context has to say, to stderr. */
void state_print(Ctx *ctx);
#endif
