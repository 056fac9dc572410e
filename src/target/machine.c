/* The table of machine.def, and its look-ups. */
#include "target/machine.h"

enum { COLUMNS = 9 };

static const int32_t figures[FIGURE_COUNT][COLUMNS] = {
#define COMMON(...)
#define DEVICE(...)
#define FIGURE(id, a, b, c, d, e, f, g, h, i, ...) {a, b, c, d, e, f, g, h, i},
#include "target/machine.def"
};

const FigureInfo figure_info[FIGURE_COUNT] = {
#define COMMON(...)
#define DEVICE(...)
#define FIGURE(id, a, b, c, d, e, f, g, h, i, sources, what) {#id, sources, what},
#include "target/machine.def"
};

static const TargetDevice devices[] = {
#define COMMON(...)
#define FIGURE(...)
#define DEVICE(name, capability, sms, mhz, l2, l2_clock, dram, launch, what)                       \
    {name, capability, sms, mhz, l2, l2_clock, dram, launch, what},
#include "target/machine.def"
};

int32_t target_figure(const Target *target, Figure figure) {
    return figures[figure][target - target_table];
}

const TargetDevice *target_device(const Target *target) {
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (devices[i].capability == target->capability)
            return &devices[i];
    return NULL;
}

const TargetDevice *target_device_by_name(Str name) {
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (str_is(name, devices[i].name))
            return &devices[i];
    return NULL;
}
