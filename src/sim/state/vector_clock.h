/* Vector clocks: see check/clock.c; for other programs check/publish.c. */
#ifndef TILEC_SIM_STATE_VECTOR_CLOCK_H
#define TILEC_SIM_STATE_VECTOR_CLOCK_H
#include <stdint.h>

/* What is known of an actor's accesses: all up to epoch `all`, and up to epoch `some` those of
 * `lanes`. */
typedef struct ClockEntry {
    uint32_t all, some, lanes;
} ClockEntry;

/* By actor. */
typedef struct Clock {
    ClockEntry *seen, *fenced, *exported;
    uint64_t found, acquired; /* the latest times of what strong reads found and fences acquired */
    uint64_t proxied;         /* of the latter, with a fence.proxy.async of global memory behind */
} Clock;

#define NO_ACTOR UINT32_MAX
#endif
