/* Blobs by name, shared by a fleet: what one machine made, others need not make again.
 *
 * A remote only saves work. No call fails for its caller: what cannot be reached, is too slow,
 * refuses or answers rubbish holds nothing. Connecting, and every call, ends within the time limit,
 * beside what the bytes of a large answer take, and after one that did not succeed the remote is
 * left alone for a while, twice as long after each further one (BACKOFF in remote.c), so that a
 * dead server costs one time limit now and then. The first trouble is kept to be said.
 *
 * With a key, what is put is signed, name and bytes (HMAC-SHA256), and what is found without that
 * signature holds nothing either: then not everybody who can write to the server can run code on
 * its clients. Callers verify the form of blobs themselves.
 *
 * Names are of [a-z0-9/]. Any thread; a fork connects anew. */
#ifndef TILEC_RUNTIME_CACHE_REMOTE_H
#define TILEC_RUNTIME_CACHE_REMOTE_H
#include "support/str.h"

typedef struct Remote Remote;

typedef struct RemoteConfig {
    const char *url; /* redis://user:password@host:port/prefix, rediss:// for TLS; all but the
                        host may be left out; %XX stands for a character */
    const char *key; /* NULL: nothing is signed */
    const char *ca;  /* a file of certificates for TLS; NULL: the system's */
    uint32_t time_limit_ms;
} RemoteConfig;

/* In the arena, which must outlive it; connects when it is first asked. NULL: *trouble says why it
 * cannot be used at all. */
Remote *remote_open(Arena *arena, const RemoteConfig *config, const char **trouble);
/* NULL is allowed. */
void remote_close(Remote *remote);

/* False: there is none. */
bool remote_get(Remote *remote, Arena *arena, const char *name, Str *blob);
void remote_put(Remote *remote, Arena *arena, const char *name, Str blob);

/* Leases: whoever has one makes the blob of that name. It ends by itself after REMOTE_LEASE_MS. */
enum { REMOTE_LEASE_MS = 30000, REMOTE_TOKEN_SIZE = 33 };
typedef struct RemoteLease {
    char token[REMOTE_TOKEN_SIZE]; /* "": not held */
} RemoteLease;
typedef enum RemoteTurn { REMOTE_HELD, REMOTE_BUSY, REMOTE_NONE } RemoteTurn;
/* REMOTE_NONE: nobody can be asked. */
RemoteTurn remote_lease_take(Remote *remote, const char *name, RemoteLease *lease);
/* Also of one that is not held. */
void remote_lease_end(Remote *remote, const char *name, RemoteLease *lease);

/* It can be reached, and lets us in. */
bool remote_answers(Remote *remote);
/* "redis://host:port/prefix", without user and password. */
const char *remote_address(const Remote *remote);
/* The first trouble, once; false: there was none, or it was taken. */
bool remote_take_trouble(Remote *remote, char *text, size_t size);
#endif
