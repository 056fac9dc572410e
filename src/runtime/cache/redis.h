/* A connection to a Redis server, or one that speaks like it (Valkey, KeyDB): commands with a
 * deadline. hiredis writes commands and reads replies; sockets are ours, because hiredis has a time
 * limit for each system call only, which a server that sends a byte now and then never exceeds. */
#ifndef TILEC_RUNTIME_CACHE_REDIS_H
#define TILEC_RUNTIME_CACHE_REDIS_H
#include "support/str.h"
#include <hiredis/hiredis.h>
#include <sys/types.h>

typedef struct RedisAddress {
    const char *user, *password; /* NULL: none */
    const char *host, *port;
    const char *prefix;
    bool tls;
    const char *ca; /* see RemoteConfig */
} RedisAddress;

/* False for what is no address. */
bool redis_parse_address(Arena *arena, const char *url, RedisAddress *address);

typedef struct RedisLookup RedisLookup;

typedef struct Redis {
    const RedisAddress *address;
    int fd; /* -1: not connected */
    pid_t pid;
    struct Tls *tls; /* NULL: none */
    redisReader *reader;
    RedisLookup *lookup; /* of the host's name, under way; NULL: none */
    double deadline;     /* of what is done now; see redis_call */
    char trouble[192];   /* of the last call that failed */
} Redis;

void redis_init(Redis *redis, const RedisAddress *address);
void redis_close(Redis *redis);

enum { REDIS_MAX_ARGUMENTS = 8 };
/* Sends a command, after connecting if needed, and returns the reply, which freeReplyObject frees.
 * Connecting, with TLS and signing in, may take `time_ms`, and so may the command with its answer,
 * beside what their bytes take at 128 Mbit/s: a server that does not answer, or not as fast, costs
 * so much, a large answer is no reason to give up. NULL: there was none in that time, and `trouble`
 * says why; the connection is closed then. An error that the server replies is a reply. `limit`:
 * most bytes of it. */
redisReply *redis_call(Redis *redis, double time_ms, size_t limit, int count,
                       const Str arguments[]);
/* After a call that failed: it was for want of the host's address, which is still looked up. */
bool redis_is_looking_up(const Redis *redis);
/* Milliseconds of a steady clock. */
double redis_now_ms(void);
#endif
