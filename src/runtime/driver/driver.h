/* The CUDA driver, found at run time: the same binary works on machines without one. */
#ifndef TILEC_RUNTIME_DRIVER_DRIVER_H
#define TILEC_RUNTIME_DRIVER_DRIVER_H
#include "runtime/driver/cuda_types.h"
#include "support/diag.h"
#include "target/target.h"
#include <stdatomic.h>
#include <sys/types.h>

typedef enum DriverFunction {
#define DRIVER(field, symbol, parameters) DRIVER_##field,
#include "runtime/driver/driver.def"
    DRIVER_COUNT
} DriverFunction;

/* Read-only once opened: any thread may call its functions. */
typedef struct Driver {
    void *library;
    int version;   /* 13000: CUDA 13.0 */
    pid_t process; /* that initialised it: it works in no other */
#define DRIVER(field, symbol, parameters) CUresult(*field) parameters;
#include "runtime/driver/driver.def"
} Driver;

typedef struct Device {
    const Driver *driver;
    int ordinal;
    CUdevice handle;
    CUcontext context; /* the primary one, retained */
    char name[96];
    int major, minor, sm_count, l2_bytes, shared_per_block;
    int cooperative;      /* takes cooperative launches */
    size_t memory;        /* bytes */
    const Target *target; /* NULL: no target of this compiler runs there */
    /* The kernel that this library launched there last; NULL: none. It and `stuck` alone change
     * once the device is open: see device_latest. */
    _Atomic(const char *) latest;
    /* A kernel there has not ended in its time: see device_stuck. */
    atomic_bool stuck;
    int block_registers, sm_registers, warp_size, clock_khz, memory_clock_khz, bus_bits;
} Device;

/* Whether PTX is what the driver's devices run: it is the simulator's (docs/simulator.md). */
static inline bool driver_runs_ptx(const Driver *driver) {
    return driver->runs_ptx != NULL;
}

/* Loads and initialises the driver: `library`, else TILEC_CUDA_LIBRARY, else libcuda.so.1. False
 * after an error was reported; nothing is left open then. */
bool driver_open(Driver *driver, Diags *diags, const char *library);
/* Loads only: enough for driver->version, and quick. */
bool driver_load(Driver *driver, Diags *diags, const char *library);
void driver_close(Driver *driver);

/* "CUDA_ERROR_X: what it means"; static text of the driver, copied to the arena. */
const char *driver_error_text(const Driver *driver, Arena *arena, CUresult result);
/* True for success; else reports which call failed and how. */
bool driver_check(const Driver *driver, Diags *diags, DriverFunction function, CUresult result);
#define DRIVER_TRY(driver, diags, function, ...)                                                   \
    driver_check((driver), (diags), DRIVER_##function, (driver)->function(__VA_ARGS__))

/* 0 after an error was reported. */
int driver_device_count(const Driver *driver, Diags *diags);
/* What the driver says about a device; no context is made. */
bool device_query(const Driver *driver, Diags *diags, int ordinal, Device *device);
/* Also retains the primary context; device_close gives it back. */
bool device_open(const Driver *driver, Diags *diags, int ordinal, Device *device);
void device_close(Device *device);

/* Makes the device's context current in this thread if it is not; `pushed` says whether
 * device_leave has to undo that. Cheap when the caller works on the device already. */
CUresult device_enter(const Device *device, bool *pushed);
void device_leave(const Device *device, bool pushed);

/* What `latest` is, to be read and written by any thread. */
static inline _Atomic(const char *) *device_latest(const Device *device) {
    return (_Atomic(const char *) *)(uintptr_t)&device->latest;
}

/* Whether a kernel has not ended in the time that it had, so that what waits for the device waits
 * for ever; written when that is found. */
static inline atomic_bool *device_stuck(const Device *device) {
    return (atomic_bool *)(uintptr_t)&device->stuck;
}

/* PTX to cubin by the driver's own assembler; `log` receives what it says, as ptxas -v would. The
 * device's context must be current. False after an error was reported. */
bool driver_assemble(const Device *device, Diags *diags, Str ptx, bool line_info, Str *cubin,
                     Str *log);
#endif
