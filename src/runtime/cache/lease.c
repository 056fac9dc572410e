/* See lease.h.
 *
 * The file of a lease exists while somebody has it: whoever ends in order removes it before the
 * lock goes, so that a lock on a file that is no longer there means "done, look", and one on a file
 * that still is "its holder was killed: go on in its place". flock, and not a record lock, since
 * those belong to a process and not to a thread. */
#include "runtime/cache/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often those who wait look. */
enum { FIRST_POLL_MS = 1, LAST_POLL_MS = 16 };

static double steady_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

void cache_lease_open(CacheLease *lease, Cache *cache, Str key) {
    *lease = (CacheLease){
        .cache = cache, .place = cache_place(key, CACHE_LEASE_SUFFIX), .file = -1, .subfolder = -1};
}

/* Threads of this process. All of it under the cache's lock. */

static CacheFlight *find_flight(const Cache *cache, const char *name) {
    CacheFlight *flight = cache->flights;
    while (flight && (flight->has_ended || strcmp(flight->name, name)))
        flight = flight->next;
    return flight;
}

static void drop_flight(Cache *cache, CacheFlight *flight) {
    if (--flight->references)
        return;
    CacheFlight **at = &cache->flights;
    while (*at != flight)
        at = &(*at)->next;
    *at = flight->next;
    allocator_give(cache->allocator, flight->file, flight->size);
    allocator_give(cache->allocator, flight, sizeof *flight);
}

/* Who waited for a flight that brought nothing goes alone: what failed is not tried in turn. */
static void leave_waited(CacheLease *lease) {
    CacheFlight *flight = lease->waited;
    if (!flight)
        return;
    lease->may_make |= flight->has_ended && !flight->has_landed;
    lease->waited = NULL;
    drop_flight(lease->cache, flight);
}

/* True: this thread is the one. Out of memory: so it is, and nobody knows. */
static bool enter(CacheLease *lease) {
    Cache *cache = lease->cache;
    pthread_mutex_lock(&cache->lock);
    leave_waited(lease);
    CacheFlight *other = lease->may_make ? NULL : find_flight(cache, lease->place.name);
    if (other) {
        other->references++;
        lease->waited = other;
    } else if (!lease->may_make) {
        CacheFlight *flight = allocator_take(cache->allocator, sizeof *flight);
        if (flight) {
            memcpy(flight->name, lease->place.name, sizeof flight->name);
            flight->references = 1;
            flight->next = cache->flights;
            cache->flights = flight;
        }
        lease->own = flight;
    }
    pthread_mutex_unlock(&cache->lock);
    return !other;
}

static bool waited_has_ended(CacheLease *lease) {
    pthread_mutex_lock(&lease->cache->lock);
    const bool has_ended = lease->waited->has_ended;
    pthread_mutex_unlock(&lease->cache->lock);
    return has_ended;
}

/* Other processes */

typedef enum LockState {
    LOCK_NONE,  /* there are no locks: nobody to wait for */
    LOCK_HELD,  /* by us */
    LOCK_BUSY,  /* somebody else's */
    LOCK_ENDED, /* whoever had it is done */
} LockState;

static void close_file(CacheLease *lease) {
    if (lease->file >= 0)
        close(lease->file);
    lease->file = -1;
}

/* The file that was opened is still the one of that name. */
static bool is_there(const CacheLease *lease) {
    struct stat opened, named;
    return fstat(lease->file, &opened) == 0 && opened.st_nlink &&
           fstatat(lease->subfolder, lease->place.name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static bool open_lease_file(CacheLease *lease) {
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int error;
    if (lease->subfolder < 0)
        lease->subfolder = cache_open_subfolder(lease->cache, lease->cache->folder,
                                                lease->place.subfolder, CACHE_MAKE, &error);
    if (lease->file < 0 && lease->subfolder >= 0)
        lease->file = openat(lease->subfolder, lease->place.name, flags, 0600);
    return lease->file >= 0;
}

static LockState try_lock(CacheLease *lease) {
    if (!lease->cache->folder || !open_lease_file(lease))
        return LOCK_NONE;
    if (!is_there(lease)) {
        close_file(lease);
        return LOCK_ENDED;
    }
    if (flock(lease->file, LOCK_EX | LOCK_NB)) {
        if (errno == EWOULDBLOCK)
            return LOCK_BUSY;
        close_file(lease);
        return LOCK_NONE;
    }
    if (is_there(lease))
        return LOCK_HELD;
    close_file(lease);
    return LOCK_ENDED;
}

/* Sleeps; false when there is no more time, or the work is cancelled. */
static bool pause_for(CacheLease *lease, const Cancel *cancel, int *poll_ms) {
    const double now = steady_ms();
    struct pollfd event = {cancel ? cancel->event : -1, POLLIN, 0};
    if (!lease->deadline)
        lease->deadline = now + lease->cache->wait_ms;
    if (now >= lease->deadline || cancel_is_requested(cancel))
        return false;
    poll(&event, 1, *poll_ms);
    *poll_ms = 2 * *poll_ms < LAST_POLL_MS ? 2 * *poll_ms : LAST_POLL_MS;
    return true;
}

/* Other machines */

/* Between two looks at a remote: as many machines may wait for one as there are. Every LEASE_POLLS
 * looks, whether its lease has expired. */
enum { FIRST_REMOTE_POLL_MS = 25, REMOTE_DOUBLINGS = 4, LEASE_POLLS = 4 };

/* Grows, and a part of it is left to chance, so that machines that began together do not come
 * together. */
static int remote_poll_ms(CacheLease *lease) {
    const int shift =
        lease->remote_polls < REMOTE_DOUBLINGS ? lease->remote_polls : REMOTE_DOUBLINGS;
    const int ms = FIRST_REMOTE_POLL_MS << shift;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    lease->remote_polls++;
    return ms / 2 + (int)(now.tv_nsec / 1000 % ms);
}

/* True: look again, whether we have the lease now or somebody else may be done. */
static bool wait_for_machines(CacheLease *lease, const Cancel *cancel) {
    Cache *cache = lease->cache;
    RemoteTurn turn = cache->remote ? REMOTE_BUSY : REMOTE_NONE;
    lease->has_local = true;
    if (cache->remote && lease->remote_polls % LEASE_POLLS == 0)
        turn =
            remote_lease_take(cache->remote, cache_remote_name(&lease->place).text, &lease->remote);
    if (turn == REMOTE_BUSY) {
        int poll_ms = remote_poll_ms(lease);
        lease->may_make = !pause_for(lease, cancel, &poll_ms);
        return !lease->may_make;
    }
    lease->may_make = true;
    return turn == REMOTE_HELD || lease->file >= 0;
}

/* A lock that was waited for and is now ours belonged to one that was killed, and so is what was
 * looked for before still not there; else somebody may have been done in between. */
static bool wait_for_processes(CacheLease *lease, const Cancel *cancel) {
    int poll_ms = FIRST_POLL_MS;
    bool was_busy = false;
    for (;;) {
        switch (try_lock(lease)) {
        case LOCK_NONE:
        case LOCK_HELD:
            return wait_for_machines(lease, cancel);
        case LOCK_ENDED:
            lease->may_make = was_busy;
            return true;
        case LOCK_BUSY:
            was_busy = true;
            if (pause_for(lease, cancel, &poll_ms))
                continue;
            close_file(lease);
            lease->may_make = true;
            return false;
        }
    }
}

bool cache_lease_wait(CacheLease *lease, const Cancel *cancel) {
    int poll_ms = FIRST_POLL_MS;
    if (lease->may_make)
        return false;
    if (lease->has_local)
        return wait_for_machines(lease, cancel);
    if (lease->own)
        return wait_for_processes(lease, cancel);
    if (enter(lease))
        return !lease->may_make && wait_for_processes(lease, cancel);
    while (!waited_has_ended(lease)) {
        if (!pause_for(lease, cancel, &poll_ms)) {
            lease->may_make = true;
            return false;
        }
    }
    return true;
}

void cache_lease_close(CacheLease *lease) {
    if (!lease->cache)
        return;
    if (lease->cache->remote)
        remote_lease_end(lease->cache->remote, cache_remote_name(&lease->place).text,
                         &lease->remote);
    if (lease->file >= 0) {
        unlinkat(lease->subfolder, lease->place.name, 0);
        flock(lease->file, LOCK_UN); /* also for forks of the host that have it open */
        close_file(lease);
    }
    if (lease->subfolder >= 0)
        close(lease->subfolder);
    pthread_mutex_lock(&lease->cache->lock);
    leave_waited(lease);
    if (lease->own) {
        lease->own->has_ended = true;
        drop_flight(lease->cache, lease->own);
    }
    pthread_mutex_unlock(&lease->cache->lock);
    *lease = (CacheLease){0};
}
