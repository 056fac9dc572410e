/* See redis.h. */
#include "runtime/cache/redis.h"

#include "runtime/cache/tls.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* What a connection is to carry at least, once an answer comes: 128 Mbit/s. */
enum { IO_STEP = 16384, LEAST_BYTES_PER_MS = 16000 };

double redis_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Addresses */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A part of a URL; NULL when it is empty. */
static const char *decode(Arena *arena, Str part) {
    char *text = str_dup(arena, part), *to = text;
    for (size_t i = 0; i < part.len; i++) {
        const bool is_coded = part.ptr[i] == '%' && i + 2 < part.len;
        const int high = is_coded ? hex_digit(part.ptr[i + 1]) : -1;
        const int low = is_coded ? hex_digit(part.ptr[i + 2]) : -1;
        const bool ok = high >= 0 && low >= 0 && (high || low);
        *to++ = ok ? (char)(high << 4 | low) : part.ptr[i];
        i += ok ? 2 : 0;
    }
    *to = 0;
    return *text ? text : NULL;
}

static Str until(const char *from, const char *to) {
    return (Str){from, (size_t)(to - from)};
}

/* host, host:port, [v6]:port */
static bool parse_host(Arena *arena, const char *at, const char *end, RedisAddress *address) {
    const char *close = *at == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL;
    const char *colon = close ? close + 1 : memchr(at, ':', (size_t)(end - at));
    if (*at == '[' && (!close || (colon != end && *colon != ':')))
        return false;
    const Str host = close ? until(at + 1, close) : colon ? until(at, colon) : until(at, end);
    const Str port = colon && colon < end ? until(colon + 1, end) : STR("");
    address->host = host.len ? decode(arena, host) : NULL;
    address->port = port.len ? str_dup(arena, port) : "6379";
    return address->host && strspn(address->port, "0123456789") == strlen(address->port);
}

bool redis_parse_address(Arena *arena, const char *url, RedisAddress *address) {
    static const char plain[] = "redis://", secure[] = "rediss://";
    *address = (RedisAddress){.tls = !strncmp(url, secure, sizeof secure - 1)};
    if (!address->tls && strncmp(url, plain, sizeof plain - 1) != 0)
        return false;
    const char *at = url + (address->tls ? sizeof secure : sizeof plain) - 1;
    const char *end = at + strcspn(at, "/");
    const char *path = *end ? end + 1 : "tilec";
    address->prefix = decode(arena, str_from(*path ? path : "tilec"));
    const char *sign = NULL;
    for (const char *c = at; c < end; c++)
        if (*c == '@')
            sign = c;
    if (sign) {
        const char *colon = memchr(at, ':', (size_t)(sign - at));
        address->user = decode(arena, until(at, colon ? colon : sign));
        address->password = colon ? decode(arena, until(colon + 1, sign)) : NULL;
        at = sign + 1;
    }
    return parse_host(arena, at, end, address);
}

/* Connections */

void redis_init(Redis *redis, const RedisAddress *address) {
    *redis = (Redis){.address = address, .fd = -1};
}

static void disconnect(Redis *redis) {
    tls_free(redis->tls);
    if (redis->reader)
        redisReaderFree(redis->reader);
    if (redis->fd >= 0)
        close(redis->fd);
    redis->tls = NULL;
    redis->reader = NULL;
    redis->fd = -1;
}

/* Of a host's name; libc's, as long as it is under way. */
struct RedisLookup {
    struct gaicb request;
    struct addrinfo hints;
    char host[256], port[16];
};

static bool is_under_way(RedisLookup *lookup) {
    return gai_error(&lookup->request) == EAI_INPROGRESS;
}

/* One that is under way can often not be ended, and then keeps its memory. */
static void end_lookup(Redis *redis) {
    RedisLookup *lookup = redis->lookup;
    redis->lookup = NULL;
    if (!lookup || (is_under_way(lookup) && gai_cancel(&lookup->request) != EAI_CANCELED &&
                    is_under_way(lookup)))
        return;
    if (lookup->request.ar_result)
        freeaddrinfo(lookup->request.ar_result);
    free(lookup);
}

void redis_close(Redis *redis) {
    disconnect(redis);
    end_lookup(redis);
}

__attribute__((format(printf, 2, 3))) static bool fail(Redis *redis, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(redis->trouble, sizeof redis->trouble, format, arguments);
    va_end(arguments);
    return false;
}

static void allow(Redis *redis, double time_ms) {
    redis->deadline = redis_now_ms() + time_ms;
}

/* What comes, or goes, gets the time that its size takes. */
static void moved(Redis *redis, size_t bytes) {
    redis->deadline += (double)bytes / LEAST_BYTES_PER_MS;
}

static bool wait_for(Redis *redis, short events) {
    for (;;) {
        const double left = redis->deadline - redis_now_ms();
        struct pollfd fd = {redis->fd, events, 0};
        if (left <= 0)
            return fail(redis, "no answer in time");
        const int ready = poll(&fd, 1, (int)left + 1);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return fail(redis, "%s", strerror(errno));
    }
}

static bool send_bytes(Redis *redis, const char *data, size_t size) {
    while (size) {
        const ssize_t sent = send(redis->fd, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return fail(redis, "%s", strerror(errno));
        if (sent < 0 && !wait_for(redis, POLLOUT))
            return false;
        moved(redis, sent > 0 ? (size_t)sent : 0);
        data += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool receive_bytes(Redis *redis, char *data, size_t room, size_t *got) {
    for (;;) {
        const ssize_t n = recv(redis->fd, data, room, 0);
        if (n > 0) {
            *got = (size_t)n;
            moved(redis, *got);
            return redis_now_ms() < redis->deadline || fail(redis, "no answer in time");
        }
        if (n == 0)
            return fail(redis, "the server closed the connection");
        if (errno != EAGAIN && errno != EINTR)
            return fail(redis, "%s", strerror(errno));
        if (!wait_for(redis, POLLIN))
            return false;
    }
}

/* With TLS between */

static bool send_encrypted(Redis *redis) {
    char buffer[IO_STEP];
    for (size_t size; (size = tls_take_output(redis->tls, buffer, sizeof buffer));)
        if (!send_bytes(redis, buffer, size))
            return false;
    return true;
}

static bool feed_encrypted(Redis *redis) {
    char buffer[IO_STEP];
    size_t got;
    return receive_bytes(redis, buffer, sizeof buffer, &got) &&
           (tls_put_input(redis->tls, buffer, got) || fail(redis, "out of memory"));
}

static bool shake_hands(Redis *redis) {
    const char *trouble;
    redis->tls = tls_new(redis->address->host, redis->address->ca, &trouble);
    if (!redis->tls)
        return fail(redis, "%s", trouble);
    for (;;) {
        const TlsResult result = tls_handshake(redis->tls);
        const bool sent = send_encrypted(redis);
        if (result == TLS_FAILED)
            return fail(redis, "%s", tls_trouble(redis->tls));
        if (!sent || result == TLS_DONE)
            return sent;
        if (!feed_encrypted(redis))
            return false;
    }
}

static bool put(Redis *redis, const char *data, size_t size) {
    if (!redis->tls)
        return send_bytes(redis, data, size);
    if (!tls_encrypt(redis->tls, data, size))
        return fail(redis, "TLS failed");
    return send_encrypted(redis);
}

static bool get(Redis *redis, char *data, size_t room, size_t *got) {
    if (!redis->tls)
        return receive_bytes(redis, data, room, got);
    for (;;) {
        const TlsResult result = tls_decrypt(redis->tls, data, room, got);
        if (result == TLS_DONE)
            return true;
        if (result == TLS_FAILED)
            return fail(redis, "the server closed the connection");
        if (!feed_encrypted(redis))
            return false;
    }
}

static bool start_lookup(Redis *redis) {
    RedisLookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return fail(redis, "out of memory");
    struct gaicb *requests[] = {&lookup->request};
    lookup->hints.ai_socktype = SOCK_STREAM;
    snprintf(lookup->host, sizeof lookup->host, "%s", redis->address->host);
    snprintf(lookup->port, sizeof lookup->port, "%s", redis->address->port);
    lookup->request = (struct gaicb){
        .ar_name = lookup->host, .ar_service = lookup->port, .ar_request = &lookup->hints};
    if (getaddrinfo_a(GAI_NOWAIT, requests, 1, NULL)) {
        free(lookup);
        return fail(redis, "no lookup of names");
    }
    redis->lookup = lookup;
    return true;
}

bool redis_is_looking_up(const Redis *redis) {
    return redis->lookup != NULL;
}

/* The name service may take seconds, and cannot be interrupted: it works on by itself, and a later
 * call, which does not wait for it once more, finds what it said. */
static bool look_up(Redis *redis, struct addrinfo **found) {
    const struct addrinfo numeric = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    if (getaddrinfo(redis->address->host, redis->address->port, &numeric, found) == 0)
        return true;
    double until = redis_now_ms();
    if (!redis->lookup) {
        if (!start_lookup(redis))
            return false;
        until = redis->deadline;
    }
    while (is_under_way(redis->lookup)) {
        const struct gaicb *const requests[] = {&redis->lookup->request};
        const double left = until - redis_now_ms();
        const struct timespec time = {(time_t)(left / 1e3), (long)(left * 1e6) % 1000000000};
        if (left <= 0)
            return fail(redis, "the lookup of its name takes too long");
        gai_suspend(requests, 1, &time);
    }
    const int error = gai_error(&redis->lookup->request);
    *found = redis->lookup->request.ar_result;
    redis->lookup->request.ar_result = NULL;
    end_lookup(redis);
    return !error || fail(redis, "%s", gai_strerror(error));
}

static bool connect_to(Redis *redis, const struct addrinfo *to) {
    const int one = 1;
    int error = 0;
    socklen_t size = sizeof error;
    redis->fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (redis->fd < 0)
        return fail(redis, "%s", strerror(errno));
    setsockopt(redis->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(redis->fd, to->ai_addr, to->ai_addrlen) == 0)
        return true;
    if (errno != EINPROGRESS)
        return fail(redis, "%s", strerror(errno));
    if (!wait_for(redis, POLLOUT))
        return false;
    if (getsockopt(redis->fd, SOL_SOCKET, SO_ERROR, &error, &size) || error)
        return fail(redis, "%s", strerror(error ? error : errno));
    return true;
}

static redisReply *exchange(Redis *redis, size_t limit, int count, const Str arguments[]);

static bool sign_in(Redis *redis) {
    const RedisAddress *a = redis->address;
    Str arguments[3] = {STR("AUTH")};
    int count = 1;
    if (!a->password)
        return true;
    if (a->user)
        arguments[count++] = str_from(a->user);
    arguments[count++] = str_from(a->password);
    redisReply *reply = exchange(redis, 4096, count, arguments);
    const bool ok = reply && (reply->type == REDIS_REPLY_STATUS ||
                              fail(redis, "%.150s", reply->str ? reply->str : "not let in"));
    if (reply)
        freeReplyObject(reply);
    return ok;
}

static bool connect_all(Redis *redis) {
    struct addrinfo *found = NULL;
    bool ok = false;
    if (!look_up(redis, &found))
        return false;
    for (const struct addrinfo *at = found; at && !ok; at = at->ai_next) {
        disconnect(redis);
        ok = connect_to(redis, at);
    }
    freeaddrinfo(found);
    redis->pid = getpid();
    if (ok && redis->address->tls)
        ok = shake_hands(redis);
    if (ok)
        redis->reader = redisReaderCreate();
    if (ok && !redis->reader)
        ok = fail(redis, "out of memory");
    return ok && sign_in(redis);
}

/* Commands */

/* Only what the commands here are answered by is given to the reader: arrays, of any size that a
 * server claims, are not. */
static bool is_expected(const char *data) {
    return strchr("+-:$", *data) != NULL && *data;
}

static redisReply *receive_reply(Redis *redis, size_t limit) {
    char buffer[IO_STEP], end[2] = {0};
    void *reply = NULL;
    for (size_t total = 0, got; !reply; total += got) {
        if (!get(redis, buffer, sizeof buffer, &got))
            return NULL;
        if ((!total && !is_expected(buffer)) || total + got > limit + IO_STEP) {
            fail(redis, "its answer is none of a Redis server");
            return NULL;
        }
        end[0] = got > 1 ? buffer[got - 2] : end[1];
        end[1] = buffer[got - 1];
        if (redisReaderFeed(redis->reader, buffer, got) != REDIS_OK ||
            redisReaderGetReply(redis->reader, &reply) != REDIS_OK) {
            fail(redis, "its answer is none of a Redis server");
            return NULL;
        }
    }
    const bool is_all = redis->reader->pos == redis->reader->len;
    if (is_all && end[0] == '\r' && end[1] == '\n') /* which the reader does not look at */
        return reply;
    /* Whose answer would the next one be? */
    fail(redis, is_all ? "its answer is longer than it says" : "it answers more than it was asked");
    freeReplyObject(reply);
    return NULL;
}

static redisReply *exchange(Redis *redis, size_t limit, int count, const Str arguments[]) {
    const char *texts[REDIS_MAX_ARGUMENTS];
    size_t sizes[REDIS_MAX_ARGUMENTS];
    char *command = NULL;
    for (int i = 0; i < count; i++) {
        texts[i] = arguments[i].ptr;
        sizes[i] = arguments[i].len;
    }
    const int size = redisFormatCommandArgv(&command, count, texts, sizes);
    if (size < 0) {
        fail(redis, "out of memory");
        return NULL;
    }
    const bool sent = put(redis, command, (size_t)size);
    redisFreeCommand(command);
    return sent ? receive_reply(redis, limit) : NULL;
}

/* False: it was closed since, as servers do with idle connections, or something came unasked, which
 * would be taken for the next answer. What TLS sends by itself is none of that. */
static bool is_quiet(const Redis *redis) {
    char byte;
    const ssize_t n = recv(redis->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n < 0 ? errno == EAGAIN || errno == EINTR : n > 0 && redis->tls;
}

redisReply *redis_call(Redis *redis, double time_ms, size_t limit, int count,
                       const Str arguments[]) {
    redisReply *reply = NULL;
    /* The parent's connection is not the child's to speak on. */
    if (redis->fd >= 0 && (redis->pid != getpid() || !is_quiet(redis)))
        disconnect(redis);
    allow(redis, time_ms);
    if (redis->fd >= 0 || connect_all(redis)) {
        allow(redis, time_ms);
        reply = exchange(redis, limit, count, arguments);
    }
    if (!reply)
        disconnect(redis);
    return reply;
}
