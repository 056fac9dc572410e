/* What the driver's errors mean: a table, and how they are told. */
#ifndef TILEC_RUNTIME_DRIVER_FAULTS_H
#define TILEC_RUNTIME_DRIVER_FAULTS_H
#include "runtime/driver/driver.h"
#include "tilec.h"

enum {
#define FAULT(ours, theirs, value, lost, status, hint) ours = value,
#include "runtime/driver/faults.def"
};

/* Every later call in the context fails with the same error. */
bool fault_loses_context(CUresult result);
/* What the result means to a caller of the public API. */
tile_status fault_status(CUresult result);
/* True for success; else reports the error of work on a device, be it of this call or of a kernel
 * that ran before it: which kernel of this library was launched there last, or that none was, so
 * that it is another's. */
bool fault_check(const Device *device, Diags *diags, DriverFunction function, CUresult result);
/* Device memory; reports how much was free when there is not enough. */
bool device_allocate(const Device *device, Diags *diags, size_t bytes, CUdeviceptr *pointer);
#endif
