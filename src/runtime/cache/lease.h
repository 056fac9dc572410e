/* One compilation for all that want the same at once: threads of a process by a list in its Cache,
 * processes by a lock on a file beside the entry, <32 hex digits>.lease.
 *
 *     CacheLease lease;
 *     cache_lease_open(&lease, cache, key);
 *     do found = look in the cache
 *     while (!found && cache_lease_wait(&lease, cancel));
 *     if (!found) compile and store
 *     cache_lease_close(&lease);
 *
 * The machine that has it then takes the lease of the remote, if there is one, so that one machine
 * of a fleet makes it.
 *
 * Who comes first makes it, and the others wait until that one is done, and look again. Nobody
 * relies on it: where files cannot be locked, or locks do nothing, where the one at work is slower
 * than the cache's wait_ms, and where it failed, everybody compiles. One that was killed has lost
 * its lock, and the next one takes it over. Nothing here allocates from an arena. */
#ifndef TILEC_RUNTIME_CACHE_LEASE_H
#define TILEC_RUNTIME_CACHE_LEASE_H
#include "runtime/cache/cache_internal.h"
#include "support/cancel.h"

typedef struct CacheLease {
    Cache *cache; /* NULL: not open */
    CachePlace place;
    CacheFlight *own;    /* ours, which threads of this process wait for */
    CacheFlight *waited; /* of another thread, of which a reference is held */
    int file;            /* locked; -1: none */
    int subfolder;       /* where it lies; -1: none */
    RemoteLease remote;
    bool has_local; /* nobody of this machine is to be waited for any more */
    bool may_make;
    int remote_polls;
    double deadline; /* milliseconds of a steady clock; 0: nothing was waited for yet */
} CacheLease;

void cache_lease_open(CacheLease *lease, Cache *cache, Str key);
/* True: look in the cache again. False: make it, be it that nobody else does, that waiting for them
 * took too long, or that they failed. A cancellation ends the wait. */
bool cache_lease_wait(CacheLease *lease, const Cancel *cancel);
/* Also of one that is zero. */
void cache_lease_close(CacheLease *lease);
#endif
