/* The state of a server, and what the files that answer requests share. */
#ifndef TILEC_LSP_SESSION_H
#define TILEC_LSP_SESSION_H
#include "frontend/reference.h"
#include "lsp/documents.h"

typedef struct Session {
    Inbox inbox;
    Documents documents;
    Settings settings;
    Ctx *language;         /* that what follows lies in */
    Signatures signatures; /* of builtins */
    bool utf8;             /* places count bytes */
    bool takes_markdown;   /* hover and completion */
    bool takes_literals;   /* code actions are objects */
    bool is_initialized, is_shut_down, has_exited;
} Session;

/* What a request is answered with: the JSON of `result`, else an error. */
typedef struct Answer {
    Ctx *ctx; /* of the request: where everything that answers it lies */
    StrBuf result;
    int error; /* 0: none */
    const char *message;
} Answer;

typedef void Handler(Session *session, const Json *params, Answer *answer);

#define REQUEST(method, handler, ...) Handler handler;
#define NOTIFICATION(method, handler) Handler handler;
#include "lsp/requests.def"

/* Analyses the document if it changed, unless further changes wait already: then what is known
 * stays that of an earlier text (`is_stale`), as it does where a change arrives meanwhile. False:
 * nothing is known at all, for want of memory. */
bool document_refresh(Session *session, Document *document);

/* Fails with a code and a message; false. */
bool answer_fail(Answer *answer, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Members of parameters; the paths are names with points between. NULL: there is none, or it is of
 * another kind. */
const Json *param_find(const Json *params, const char *path);
bool param_text(const Json *params, const char *path, Str *text);
bool param_flag(const Json *params, const char *path);
/* Whole numbers up to 2**31 - 1. */
bool param_number(const Json *params, const char *path, uint32_t *number);
bool param_place(const Json *params, const char *path, Place *place);

/* The open document that `textDocument.uri` names; NULL after an error. */
Document *param_document(Session *session, const Json *params, Answer *answer);
/* And the offset of `position`. */
Document *param_document_at(Session *session, const Json *params, Answer *answer, uint32_t *offset);
/* And that between which of its bytes `range` is. */
Document *param_document_range(Session *session, const Json *params, Answer *answer, uint32_t *lo,
                               uint32_t *hi);

/* {"line": .., "character": ..} and a range, of bytes of a text */
void put_place(StrBuf *out, const Text *text, uint32_t offset);
void put_range(StrBuf *out, const Text *text, uint32_t lo, uint32_t hi);
/* {"uri": .., "range": ..} of a place in a file. */
void put_location(StrBuf *out, Str path, const Text *text, Span span);
/* The URI of a path. */
void put_uri(StrBuf *out, Str path);
#endif
