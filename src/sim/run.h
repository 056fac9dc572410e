/* Running a launch. */
#ifndef TILEC_SIM_RUN_H
#define TILEC_SIM_RUN_H
#include "sim/state/machine.h"

/* Runs all programs of the launch, on one thread or several. */
void programs_run(Machine *machine);
#endif
