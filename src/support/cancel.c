#include "support/cancel.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

void cancel_open(Cancel *cancel) {
    atomic_init(&cancel->requested, false);
    cancel->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void cancel_close(Cancel *cancel) {
    if (cancel->event >= 0)
        close(cancel->event);
    cancel->event = -1;
}

void cancel_request(Cancel *cancel) {
    const int saved = errno;
    const uint64_t one = 1;
    atomic_store_explicit(&cancel->requested, true, memory_order_relaxed);
    /* A counter that is full can be read as well: what write returns does not matter. */
    if (cancel->event < 0 || write(cancel->event, &one, sizeof one) < 0)
        errno = saved;
}
