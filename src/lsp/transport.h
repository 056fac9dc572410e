/* Messages between client and server: JSON-RPC 2.0 behind headers with a length.
 *
 * A thread of its own reads messages and puts them into the inbox, so that what waits there is
 * known while the server works: a document that changed again need not be analysed as it was.
 * Whatever bytes arrive, it goes on with what looks like the next header. */
#ifndef TILEC_LSP_TRANSPORT_H
#define TILEC_LSP_TRANSPORT_H
#include "support/ctx.h"
#include "support/json.h"
#include <pthread.h>

enum {
    LSP_MESSAGE_LIMIT = 128 << 20, /* bytes of a message */
    LSP_WAITING_LIMIT = 256 << 20  /* of all messages that wait: then nothing is read */
};

/* Codes of errors, of JSON-RPC and of the protocol. */
enum {
    LSP_PARSE_ERROR = -32700,
    LSP_INVALID_REQUEST = -32600,
    LSP_METHOD_NOT_FOUND = -32601,
    LSP_INVALID_PARAMS = -32602,
    LSP_INTERNAL_ERROR = -32603,
    LSP_NOT_INITIALIZED = -32002,
    LSP_REQUEST_FAILED = -32803,
    LSP_CANCELLED = -32800
};

/* One message in a context of its own, which who takes it destroys. */
typedef struct Message {
    struct Message *next;
    Ctx *ctx;
    size_t size;
    const Json *id, *params; /* NULL: there is none */
    Str method;              /* empty: a response, or nothing that can be read */
    int error;               /* why it is no message; 0: it is one */
    const char *wrong;
    bool is_cancelled;
} Message;

typedef struct Inbox {
    int in, out;
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t arrived, taken;
    Message *first, *last;
    size_t size;       /* of what waits */
    bool ended;        /* nothing more comes */
    bool write_failed; /* nobody reads what is sent */
    uint32_t changes;  /* of documents, among what waits */
    Cancel stop;       /* ends the reader */
    Cancel *work;      /* which a change of a document ends; NULL: nothing that could be ended */
    bool is_open;
} Inbox;

/* Reads from `in`, writes to `out`. False: there is no thread to be had. */
bool inbox_open(Inbox *inbox, int in, int out);
/* Ends the thread; what waits is dropped. */
void inbox_close(Inbox *inbox);

/* The next message; waits for one `wait_ms`, for ever where that is negative. NULL: none came;
 * `ended`: and none will. */
Message *inbox_take(Inbox *inbox, int wait_ms, bool *ended);
void message_destroy(Message *message);

/* Work that the next change of a document is to end. False: one waits already. */
bool inbox_begin_work(Inbox *inbox, Cancel *cancel);
void inbox_end_work(Inbox *inbox);
/* Whether changes of documents wait. */
bool inbox_has_changes(Inbox *inbox);

/* Sends a message: its JSON. */
void inbox_send(Inbox *inbox, Str json);
#endif
