/* See remote.h: names, signatures, leases and patience, over one connection. */
#include "runtime/cache/remote.h"

#include "runtime/cache/redis.h"
#include "runtime/cache/tls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* How long a remote that failed is left alone. */
enum { FIRST_BACKOFF_MS = 1000, LAST_BACKOFF_MS = 64000 };
enum { MOST_BYTES = 512 << 20, SMALL_REPLY = 4096 };

struct Remote {
    RedisAddress address;
    const char *shown;
    const Allocator *allocator; /* that of the arena it was opened in */
    const char *key;            /* NULL: none */
    TlsLibrary library;         /* with a key */
    uint32_t time_limit_ms;
    pthread_mutex_t lock; /* of what follows */
    Redis redis;
    double closed_until, backoff_ms;
    double full_until; /* it refuses to store: it is full, or this user may only read */
    char trouble[192];
    bool trouble_told;
};

Remote *remote_open(Arena *arena, const RemoteConfig *config, const char **trouble) {
    Remote *remote = ARENA_NEW(arena, Remote);
    if (!redis_parse_address(arena, config->url, &remote->address)) {
        *trouble = "it is no redis://user:password@host:port/prefix";
        return NULL;
    }
    const RedisAddress *a = &remote->address;
    remote->address.ca = config->ca ? str_dup(arena, str_from(config->ca)) : NULL;
    remote->key = config->key ? str_dup(arena, str_from(config->key)) : NULL;
    if (remote->key && !tls_load(&remote->library)) {
        *trouble = "there is a key, and OpenSSL, which signs with it, was not found";
        return NULL;
    }
    remote->shown =
        str_format(arena, "redis%s://%s:%s/%s", a->tls ? "s" : "", a->host, a->port, a->prefix);
    remote->time_limit_ms = config->time_limit_ms;
    remote->allocator = arena->allocator;
    pthread_mutex_init(&remote->lock, NULL); /* which cannot fail */
    redis_init(&remote->redis, &remote->address);
    return remote;
}

void remote_close(Remote *remote) {
    if (!remote)
        return;
    redis_close(&remote->redis);
    pthread_mutex_destroy(&remote->lock);
}

const char *remote_address(const Remote *remote) {
    return remote->shown;
}

bool remote_take_trouble(Remote *remote, char *text, size_t size) {
    pthread_mutex_lock(&remote->lock);
    const bool is_new = *remote->trouble && !remote->trouble_told;
    remote->trouble_told |= is_new;
    snprintf(text, size, "%s", remote->trouble);
    pthread_mutex_unlock(&remote->lock);
    return is_new;
}

static void note(Remote *remote, const char *trouble) {
    if (!*remote->trouble)
        snprintf(remote->trouble, sizeof remote->trouble, "%s", trouble);
}

/* A part of the time is left to chance, so that a fleet does not come back as one. */
static void leave_alone(Remote *remote, double now) {
    uint16_t chance = 0;
    const double next = 2 * remote->backoff_ms;
    remote->backoff_ms = !remote->backoff_ms      ? FIRST_BACKOFF_MS
                         : next < LAST_BACKOFF_MS ? next
                                                  : LAST_BACKOFF_MS;
    if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) < 0)
        chance = (uint16_t)getpid();
    remote->closed_until = now + remote->backoff_ms * (0.75 + 0.5 * chance / UINT16_MAX);
    note(remote, remote->redis.trouble);
}

/* The server's reply, an error of its own among them; NULL: it is left alone, now or since before.
 */
static redisReply *call(Remote *remote, size_t limit, int count, const Str arguments[]) {
    pthread_mutex_lock(&remote->lock);
    const double now = redis_now_ms();
    redisReply *reply = NULL;
    if (now >= remote->closed_until) {
        reply = redis_call(&remote->redis, remote->time_limit_ms, limit, count, arguments);
        if (reply)
            remote->backoff_ms = 0;
        else if (!redis_is_looking_up(&remote->redis)) /* which costs later calls nothing */
            leave_alone(remote, redis_now_ms());
    }
    if (reply && reply->type == REDIS_REPLY_ERROR)
        note(remote, reply->str);
    pthread_mutex_unlock(&remote->lock);
    return reply;
}

bool remote_answers(Remote *remote) {
    redisReply *reply = call(remote, SMALL_REPLY, 1, (const Str[]){STR("PING")});
    const bool answers = reply && reply->type == REDIS_REPLY_STATUS;
    if (reply)
        freeReplyObject(reply);
    return answers;
}

static Str key_of(const Remote *remote, char *key, size_t size, const char *kind,
                  const char *name) {
    const int length = snprintf(key, size, "%s:1:%s:%s", remote->address.prefix, kind, name);
    return (Str){key, length > 0 && (size_t)length < size ? (size_t)length : size - 1};
}

/* Signatures: "tilecMAC", the MAC of name, zero and blob, the blob. */

static const char signed_magic[8] = "tilecMAC";
enum { SIGNATURE_SIZE = sizeof signed_magic + TLS_MAC_SIZE };

/* Not in an arena, since nothing may jump while it is at work. */
static bool sign(const Remote *remote, Str name, Str blob, unsigned char mac[TLS_MAC_SIZE]) {
    const size_t size = name.len + 1 + blob.len;
    char *text = allocator_take(remote->allocator, size);
    if (!text)
        return false;
    memcpy(text, name.ptr, name.len);
    text[name.len] = 0;
    memcpy(text + name.len + 1, blob.ptr, blob.len);
    const bool ok = tls_sign(&remote->library, remote->key, text, size, mac);
    allocator_give(remote->allocator, text, size);
    return ok;
}

static bool is_signed(Str value) {
    return value.len >= SIGNATURE_SIZE && !memcmp(value.ptr, signed_magic, sizeof signed_magic);
}

/* The blob in a value; false: its signature is none of ours. Without a key it does not count. */
static bool open_value(const Remote *remote, Str name, Str value, Str *blob) {
    unsigned char mac[TLS_MAC_SIZE];
    const bool has_signature = is_signed(value);
    *blob = has_signature ? (Str){value.ptr + SIGNATURE_SIZE, value.len - SIGNATURE_SIZE} : value;
    if (!remote->key)
        return true;
    return has_signature && sign(remote, name, *blob, mac) &&
           !remote->library.CRYPTO_memcmp(mac, value.ptr + sizeof signed_magic, TLS_MAC_SIZE);
}

/* The arena may jump; the reply must not be lost then. */
__attribute__((noinline)) static bool copy_blob(Arena *arena, Str from, Str *blob) {
    jmp_buf *outer = arena->oom, here;
    if (setjmp(here)) {
        arena->oom = outer;
        return false;
    }
    arena->oom = &here;
    *blob = (Str){str_dup(arena, from), from.len};
    arena->oom = outer;
    return true;
}

bool remote_get(Remote *remote, Arena *arena, const char *name, Str *blob) {
    char buffer[512];
    const Str key = key_of(remote, buffer, sizeof buffer, "blob", name);
    redisReply *reply = call(remote, MOST_BYTES, 2, (const Str[]){STR("GET"), key});
    bool found = reply && reply->type == REDIS_REPLY_STRING;
    Str inner;
    if (found && !open_value(remote, key, (Str){reply->str, reply->len}, &inner)) {
        pthread_mutex_lock(&remote->lock);
        note(remote, "an entry is not signed with this key");
        pthread_mutex_unlock(&remote->lock);
        found = false;
    }
    found = found && copy_blob(arena, inner, blob);
    if (reply)
        freeReplyObject(reply);
    return found;
}

void remote_put(Remote *remote, Arena *arena, const char *name, Str blob) {
    char buffer[512];
    unsigned char mac[TLS_MAC_SIZE];
    const Str key = key_of(remote, buffer, sizeof buffer, "blob", name);
    Str value = blob;
    pthread_mutex_lock(&remote->lock);
    const bool is_full = redis_now_ms() < remote->full_until;
    pthread_mutex_unlock(&remote->lock);
    if (is_full)
        return;
    if (remote->key) {
        char *text = arena_alloc(arena, SIGNATURE_SIZE + blob.len);
        if (!sign(remote, key, blob, mac))
            return;
        memcpy(text, signed_magic, sizeof signed_magic);
        memcpy(text + sizeof signed_magic, mac, sizeof mac);
        memcpy(text + SIGNATURE_SIZE, blob.ptr, blob.len);
        value = (Str){text, SIGNATURE_SIZE + blob.len};
    }
    redisReply *reply = call(remote, SMALL_REPLY, 3, (const Str[]){STR("SET"), key, value});
    if (reply && reply->type == REDIS_REPLY_ERROR) {
        pthread_mutex_lock(&remote->lock);
        remote->full_until = redis_now_ms() + LAST_BACKOFF_MS;
        pthread_mutex_unlock(&remote->lock);
    }
    if (reply)
        freeReplyObject(reply);
}

/* Leases */

static bool make_token(RemoteLease *lease) {
    uint64_t bits[2];
    if (getrandom(bits, sizeof bits, GRND_NONBLOCK) != sizeof bits)
        return false;
    snprintf(lease->token, sizeof lease->token, "%016llx%016llx", (unsigned long long)bits[0],
             (unsigned long long)bits[1]);
    return true;
}

RemoteTurn remote_lease_take(Remote *remote, const char *name, RemoteLease *lease) {
    char buffer[512], time[16];
    const Str key = key_of(remote, buffer, sizeof buffer, "lease", name);
    snprintf(time, sizeof time, "%d", (int)REMOTE_LEASE_MS);
    if (!make_token(lease))
        return REMOTE_NONE;
    const Str arguments[] = {STR("SET"), key,       str_from(lease->token),
                             STR("NX"),  STR("PX"), str_from(time)};
    redisReply *reply = call(remote, SMALL_REPLY, 6, arguments);
    const RemoteTurn turn = !reply                              ? REMOTE_NONE
                            : reply->type == REDIS_REPLY_STATUS ? REMOTE_HELD
                            : reply->type == REDIS_REPLY_NIL    ? REMOTE_BUSY
                                                                : REMOTE_NONE;
    if (turn != REMOTE_HELD)
        *lease->token = 0;
    if (reply)
        freeReplyObject(reply);
    return turn;
}

void remote_lease_end(Remote *remote, const char *name, RemoteLease *lease) {
    /* It may have expired, and be another's by now. */
    static const char script[] =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end "
        "return 0";
    char buffer[512];
    if (!*lease->token)
        return;
    const Str key = key_of(remote, buffer, sizeof buffer, "lease", name);
    const Str arguments[] = {STR("EVAL"), str_from(script), STR("1"), key, str_from(lease->token)};
    redisReply *reply = call(remote, SMALL_REPLY, 5, arguments);
    *lease->token = 0;
    if (reply)
        freeReplyObject(reply);
}
