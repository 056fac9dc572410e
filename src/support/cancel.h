/* Requests to give up: made by any thread or a signal handler, seen by whoever works.
 *
 * A request stays: what looks at it later gives up as well. Arenas look at it whenever they
 * allocate (see Arena), so that all that works in one is left by the jump that running out of
 * memory takes; what waits instead of working polls `event`. */
#ifndef TILEC_SUPPORT_CANCEL_H
#define TILEC_SUPPORT_CANCEL_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Cancel {
    atomic_bool requested;
    int event; /* a descriptor that can be read from the request on; -1: there was none to have */
} Cancel;

void cancel_open(Cancel *cancel);
void cancel_close(Cancel *cancel);
/* Any thread, and signal handlers; errno stays. */
void cancel_request(Cancel *cancel);

/* NULL: never. */
static inline bool cancel_is_requested(const Cancel *cancel) {
    return cancel && atomic_load_explicit(&cancel->requested, memory_order_relaxed);
}
#endif
