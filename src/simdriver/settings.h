/* What the environment says of the simulated machine. */
#ifndef TILEC_SIMDRIVER_SETTINGS_H
#define TILEC_SIMDRIVER_SETTINGS_H
#include "sim/sim.h"
#include "target/target.h"

typedef struct Settings {
    const Target *target; /* TILEC_SIM_TARGET, sm_90a */
    SimSchedule schedule; /* TILEC_SIM_SCHEDULE, round-robin */
#define SETTING(field, variable, initial, least, most) int64_t field;
#include "simdriver/settings.def"
} Settings;

/* False after a line on stderr: a variable has a value that it cannot have. */
bool settings_read(Settings *settings);
#endif
