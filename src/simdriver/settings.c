#include "simdriver/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool read_number(const char *variable, int64_t least, int64_t most, int64_t *number) {
    const char *text = getenv(variable);
    if (!text || !*text)
        return true;
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (!errno && !*end && value >= least && value <= most) {
        *number = value;
        return true;
    }
    fprintf(stderr, "tilec simulator: %s is %s: wanted a number from %lld to %lld\n", variable,
            text, (long long)least, (long long)most);
    return false;
}

static bool read_target(const Target **target) {
    const char *text = getenv("TILEC_SIM_TARGET");
    *target = target_by_name(str_from(text && *text ? text : "sm_90a"));
    if (!*target)
        fprintf(stderr, "tilec simulator: TILEC_SIM_TARGET is %s: wanted a name such as sm_90a\n",
                text);
    return *target != NULL;
}

static bool read_schedule(SimSchedule *schedule) {
    static const char *const names[] = {[SIM_ROUND_ROBIN] = "round-robin",
                                        [SIM_RANDOM] = "random",
                                        [SIM_ADVERSARIAL] = "adversarial"};
    const char *text = getenv("TILEC_SIM_SCHEDULE");
    *schedule = SIM_ROUND_ROBIN;
    if (!text || !*text)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        *schedule = (SimSchedule)i;
        return true;
    }
    fprintf(
        stderr,
        "tilec simulator: TILEC_SIM_SCHEDULE is %s: wanted round-robin, random or adversarial\n",
        text);
    return false;
}

bool settings_read(Settings *settings) {
    *settings = (Settings){
#define SETTING(field, variable, initial, least, most) .field = (initial),
#include "simdriver/settings.def"
    };
#define SETTING(field, variable, initial, least, most)                                             \
    if (!read_number(variable, least, most, &settings->field))                                     \
        return false;
#include "simdriver/settings.def"
    return read_target(&settings->target) && read_schedule(&settings->schedule);
}
