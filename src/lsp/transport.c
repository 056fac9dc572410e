/* See transport.h. */
#include "lsp/transport.h"

#include "support/c_locale.h"
#include "support/file.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, HEADER_LINE = 1024 };

typedef struct Input {
    int fd;
    const Cancel *stop;
    char *buffer;
    size_t at, len;
    bool ended;
} Input;

static bool fill(Input *input) {
    while (input->at == input->len && !input->ended) {
        struct pollfd wait[] = {{input->fd, POLLIN, 0}, {input->stop->event, POLLIN, 0}};
        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            input->ended = true;
        if (cancel_is_requested(input->stop))
            input->ended = true;
        if (input->ended || !wait[0].revents)
            continue;
        const ssize_t got = read(input->fd, input->buffer, BUFFER);
        if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
            continue;
        input->at = 0;
        input->len = got > 0 ? (size_t)got : 0;
        input->ended = got <= 0;
    }
    return !input->ended;
}

/* Copies `size` bytes; `to` NULL: passes over them. False: the input ends before. */
static bool take_bytes(Input *input, char *to, size_t size) {
    while (size) {
        if (!fill(input))
            return false;
        const size_t ready = input->len - input->at, now = ready < size ? ready : size;
        if (to) {
            memcpy(to, input->buffer + input->at, now);
            to += now;
        }
        input->at += now;
        size -= now;
    }
    return true;
}

/* A line without its end; of a longer one the last HEADER_LINE / 2 bytes and more. False: the input
 * ends. */
static bool take_line(Input *input, char *line) {
    size_t len = 0;
    for (;;) {
        if (!fill(input))
            return false;
        const char c = input->buffer[input->at++];
        if (c == '\n')
            break;
        if (len == HEADER_LINE - 1) {
            len = HEADER_LINE / 2;
            memmove(line, line + HEADER_LINE - 1 - len, len);
        }
        line[len++] = c ? c : ' ';
    }
    if (len && line[len - 1] == '\r')
        len--;
    line[len] = 0;
    return true;
}

/* The number behind Content-Length, of which nothing else may stand there. */
static bool read_length(const char *text, size_t *length) {
    char *end;
    while (*text == ' ' || *text == '\t')
        text++;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    while (*end == ' ' || *end == '\t')
        end++;
    *length = (size_t)value;
    return !errno && !*end && value <= SIZE_MAX / 2;
}

/* Where a header with the length is in the line, the last one; NULL: there is none. What is in
 * front of it is of no message: of one whose length was wrong, say. */
static const char *find_length(const char *line) {
    static const char name[] = "Content-Length:";
    const char *found = NULL;
    for (const char *at = line; *at; at++)
        if (!strncasecmp(at, name, sizeof name - 1))
            found = at;
    return found;
}

/* The headers of a message. `wrong` says what is the matter with them, or with what stands in front
 * of them; NULL: nothing is. An empty line in front of them is passed over. False: the input ends.
 */
static bool take_headers(Input *input, size_t *length, bool *has_length, const char **wrong) {
    char line[HEADER_LINE];
    *wrong = NULL;
    *has_length = false;
    for (bool is_first = true;; is_first &= !line[0]) {
        if (!take_line(input, line))
            return false;
        if (!line[0] && is_first)
            continue;
        if (!line[0])
            break;
        const char *found = find_length(line);
        if (found != line && (found || !strchr(line, ':')))
            *wrong = "what is no header stands in front of a message";
        if (!found)
            continue;
        size_t value = 0;
        if (!read_length(found + strlen("Content-Length:"), &value))
            *wrong = "Content-Length is no number";
        else if (value > LSP_MESSAGE_LIMIT)
            *wrong = "the message is too long";
        else
            *has_length = true;
        *length = value;
    }
    if (!*has_length && !*wrong)
        *wrong = "there is no Content-Length";
    return true;
}

static Message *message_create(size_t size) {
    Ctx *ctx = ctx_create();
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        return NULL;
    }
    Message *message = ARENA_NEW(&ctx->arena, Message);
    *message = (Message){.ctx = ctx, .size = size + sizeof *message};
    return message;
}

void message_destroy(Message *message) {
    if (message)
        ctx_destroy(message->ctx);
}

static void refuse(Message *message, int error, const char *wrong) {
    message->error = error;
    message->wrong = wrong;
}

/* What the members mean; `json` is the whole of the text. */
static void read_members(Message *message, const Json *json) {
    if (json->kind != JSON_OBJECT) {
        refuse(message, LSP_INVALID_REQUEST,
               json->kind == JSON_LIST ? "a batch is no message of the protocol"
                                       : "a message is an object");
        return;
    }
    const Json *method = json_find(json, "method"), *id = json_find(json, "id");
    const Json *version = json_find(json, "jsonrpc");
    if (id && (id->kind == JSON_NUMBER || id->kind == JSON_STRING))
        message->id = id;
    if (id && !message->id && id->kind != JSON_NULL)
        refuse(message, LSP_INVALID_REQUEST, "an id is a number or a string");
    else if (!version || version->kind != JSON_STRING || !str_is(version->text, "2.0"))
        refuse(message, LSP_INVALID_REQUEST, "the version of JSON-RPC is \"2.0\"");
    else if (method ? method->kind != JSON_STRING || !method->text.len
                    : !json_find(json, "result") && !json_find(json, "error"))
        refuse(message, LSP_INVALID_REQUEST, "a message has a method");
    if (message->error)
        return;
    message->method = method ? method->text : (Str){0};
    message->params = json_find(json, "params");
    if (message->params && message->params->kind == JSON_NULL)
        message->params = NULL;
    if (message->params && message->params->kind != JSON_OBJECT &&
        message->params->kind != JSON_LIST)
        refuse(message, LSP_INVALID_PARAMS, "the parameters are an object");
}

/* Reads the JSON. False: there is no memory for it. */
static bool message_read(Message *message, const char *text, size_t size) {
    Ctx *ctx = message->ctx;
    if (setjmp(ctx->oom))
        return false;
    size_t at = 0;
    const uint32_t file = source_add(&ctx->sources, STR("message"), (Str){text, size});
    const Json *json = json_read_next(&ctx->diags, file, &at);
    if (json && at == size)
        read_members(message, json);
    else
        refuse(message, LSP_PARSE_ERROR,
               ctx->diags.first ? ctx->diags.first->text : "there is text behind the message");
    return true;
}

static bool is_change(const Message *message) {
    return str_is(message->method, "textDocument/didChange") ||
           str_is(message->method, "textDocument/didClose") ||
           str_is(message->method, "workspace/didChangeConfiguration") ||
           str_is(message->method, "exit") || str_is(message->method, "shutdown");
}

static bool same_id(const Json *a, const Json *b) {
    return a && b && a->kind == b->kind && str_eq(a->text, b->text);
}

/* A request that waits is answered as cancelled when it is its turn. */
static void cancel_waiting(Inbox *inbox, const Message *cancel) {
    const Json *id = cancel->params && cancel->params->kind == JSON_OBJECT
                         ? json_find(cancel->params, "id")
                         : NULL;
    for (Message *message = inbox->first; message && id; message = message->next)
        if (message->method.len && same_id(message->id, id))
            message->is_cancelled = true;
}

static void deliver(Inbox *inbox, Message *message) {
    pthread_mutex_lock(&inbox->lock);
    while (inbox->size > LSP_WAITING_LIMIT && !cancel_is_requested(&inbox->stop))
        pthread_cond_wait(&inbox->taken, &inbox->lock);
    if (str_is(message->method, "$/cancelRequest"))
        cancel_waiting(inbox, message);
    if (is_change(message)) {
        inbox->changes++;
        if (inbox->work)
            cancel_request(inbox->work);
    }
    *(inbox->last ? &inbox->last->next : &inbox->first) = message;
    inbox->last = message;
    inbox->size += message->size;
    pthread_cond_signal(&inbox->arrived);
    pthread_mutex_unlock(&inbox->lock);
}

static void deliver_wrong(Inbox *inbox, int error, const char *wrong) {
    Message *message = message_create(0);
    if (!message)
        return;
    refuse(message, error, wrong);
    deliver(inbox, message);
}

/* False: the input ends. */
static bool take_message(Inbox *inbox, Input *input) {
    size_t size = 0;
    bool has_length;
    const char *wrong;
    if (!take_headers(input, &size, &has_length, &wrong))
        return false;
    if (wrong)
        deliver_wrong(inbox, LSP_PARSE_ERROR, wrong);
    if (!has_length)
        return true;
    char *text = malloc(size + 1);
    const bool whole = take_bytes(input, text, size);
    Message *message = text && whole ? message_create(size) : NULL;
    if (message && message_read(message, text, size)) {
        deliver(inbox, message);
    } else {
        message_destroy(message);
        if (whole)
            deliver_wrong(inbox, LSP_INTERNAL_ERROR, "there is no memory for the message");
    }
    free(text);
    return whole;
}

static void *read_all(void *user) {
    Inbox *inbox = user;
    Input input = {.fd = inbox->in, .stop = &inbox->stop, .buffer = malloc(BUFFER)};
    c_locale_enter(); /* to the thread's end */
    while (input.buffer && take_message(inbox, &input))
        ;
    free(input.buffer);
    pthread_mutex_lock(&inbox->lock);
    inbox->ended = true;
    if (inbox->work)
        cancel_request(inbox->work);
    pthread_cond_signal(&inbox->arrived);
    pthread_mutex_unlock(&inbox->lock);
    return NULL;
}

bool inbox_open(Inbox *inbox, int in, int out) {
    pthread_condattr_t attributes;
    sigset_t all, before;
    *inbox = (Inbox){.in = in, .out = out};
    cancel_open(&inbox->stop);
    pthread_mutex_init(&inbox->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&inbox->arrived, &attributes);
    pthread_cond_init(&inbox->taken, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    inbox->is_open = !pthread_create(&inbox->reader, NULL, read_all, inbox);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!inbox->is_open)
        cancel_close(&inbox->stop);
    return inbox->is_open;
}

void inbox_close(Inbox *inbox) {
    if (!inbox->is_open)
        return;
    cancel_request(&inbox->stop);
    pthread_mutex_lock(&inbox->lock);
    pthread_cond_signal(&inbox->taken);
    pthread_mutex_unlock(&inbox->lock);
    pthread_join(inbox->reader, NULL);
    for (Message *message = inbox->first, *next; message; message = next) {
        next = message->next;
        message_destroy(message);
    }
    cancel_close(&inbox->stop);
    pthread_mutex_destroy(&inbox->lock);
    pthread_cond_destroy(&inbox->arrived);
    pthread_cond_destroy(&inbox->taken);
}

Message *inbox_take(Inbox *inbox, int wait_ms, bool *ended) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const int64_t nanoseconds = end.tv_nsec + (int64_t)(wait_ms < 0 ? 0 : wait_ms) * 1000000;
    end.tv_sec += nanoseconds / 1000000000;
    end.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&inbox->lock);
    while (!inbox->first && !inbox->ended) {
        if (wait_ms < 0)
            pthread_cond_wait(&inbox->arrived, &inbox->lock);
        else if (pthread_cond_timedwait(&inbox->arrived, &inbox->lock, &end))
            break;
    }
    Message *message = inbox->first;
    if (message) {
        inbox->first = message->next;
        if (!inbox->first)
            inbox->last = NULL;
        inbox->size -= message->size;
        inbox->changes -= is_change(message);
        message->next = NULL;
        pthread_cond_signal(&inbox->taken);
    }
    *ended = !message && inbox->ended;
    pthread_mutex_unlock(&inbox->lock);
    return message;
}

bool inbox_begin_work(Inbox *inbox, Cancel *cancel) {
    pthread_mutex_lock(&inbox->lock);
    const bool free_to_work = !inbox->changes;
    if (free_to_work)
        inbox->work = cancel;
    pthread_mutex_unlock(&inbox->lock);
    return free_to_work;
}

void inbox_end_work(Inbox *inbox) {
    pthread_mutex_lock(&inbox->lock);
    inbox->work = NULL;
    pthread_mutex_unlock(&inbox->lock);
}

bool inbox_has_changes(Inbox *inbox) {
    pthread_mutex_lock(&inbox->lock);
    const bool has = inbox->changes;
    pthread_mutex_unlock(&inbox->lock);
    return has;
}

void inbox_send(Inbox *inbox, Str json) {
    char header[64];
    const int length = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", json.len);
    if (!inbox->write_failed)
        inbox->write_failed = file_write_all(inbox->out, (Str){header, (size_t)length}) ||
                              file_write_all(inbox->out, json);
}
