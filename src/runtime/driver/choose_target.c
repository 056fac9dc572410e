/* See choose_target.h. */
#include "runtime/driver/choose_target.h"

enum { DEFAULT_CAPABILITY = 90 };

bool report_device_target(Diags *diags, const Device *device) {
    return diag(diags, (Span){0}, device_target, device->name, device->major, device->minor,
                target_list(diags->arena));
}

static const Target *of_device(Diags *diags, const Device *device) {
    if (!device->target)
        report_device_target(diags, device);
    return device->target;
}

static const Target *of_first_device(Diags *diags, const char *library) {
    Driver driver;
    Device device;
    if (!driver_open(&driver, diags, library))
        return NULL;
    const Target *target =
        device_query(&driver, diags, 0, &device) ? of_device(diags, &device) : NULL;
    driver_close(&driver);
    return target;
}

static const Target *of_name(Diags *diags, Str name) {
    const Target *target = target_by_name(name);
    if (target)
        return target;
    Str *names = ARENA_ARRAY(diags->arena, Str, (size_t)target_count);
    for (int i = 0; i < target_count; i++)
        names[i] = str_from(target_table[i].name);
    diag(diags, (Span){0}, target_unknown, STR_ARG(name), target_list(diags->arena));
    int nearest = str_nearest(name, names, (size_t)target_count);
    if (nearest >= 0)
        diag_hint(diags, "did you mean '%s'?", target_table[nearest].name);
    return NULL;
}

const Target *choose_target(Diags *diags, Str name, const Device *device, const char *library) {
    bool is_native = str_is(name, TARGET_NATIVE);
    if (name.len && !is_native)
        return of_name(diags, name);
    if (device)
        return of_device(diags, device);
    return is_native ? of_first_device(diags, library) : target_by_capability(DEFAULT_CAPABILITY);
}
