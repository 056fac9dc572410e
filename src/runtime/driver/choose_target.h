/* Which row of targets.def is meant. */
#ifndef TILEC_RUNTIME_DRIVER_CHOOSE_TARGET_H
#define TILEC_RUNTIME_DRIVER_CHOOSE_TARGET_H
#include "runtime/driver/driver.h"

/* `name`: of a row; "native": what runs on `device`, or where that is NULL on the first GPU of this
 * machine, for which the driver (`library`: see driver_open) is asked; empty: what runs on
 * `device`, or where that is NULL the default. NULL after an error. */
const Target *choose_target(Diags *diags, Str name, const Device *device, const char *library);

/* The error that no code of this compiler runs on the device; false. */
bool report_device_target(Diags *diags, const Device *device);
#endif
