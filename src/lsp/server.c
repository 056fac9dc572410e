/* The server: takes messages, answers requests by the table requests.def, and analyses documents
 * when there is nothing else to do. */
#include "lsp/server.h"

#include "lsp/diagnostics.h"
#include "runtime/compile/build_info.h"
#include "runtime/compile/compile.h"

#include <signal.h>

typedef struct Method {
    const char *name;
    Handler *handler;
    bool is_request;
    const char *capability, *value;
} Method;

static const Method methods[] = {
#define REQUEST(method, handler, capability, value) {method, handler, true, capability, value},
#define NOTIFICATION(method, handler) {method, handler, false, "", ""},
#include "lsp/requests.def"
};

enum { METHOD_COUNT = sizeof methods / sizeof *methods };

static const Method *find_method(Str name) {
    for (size_t i = 0; i < METHOD_COUNT; i++)
        if (str_is(name, methods[i].name))
            return &methods[i];
    return NULL;
}

/* Lifecycle */

static bool lists_text(const Json *list, const char *text) {
    for (uint32_t i = 0; list && list->kind == JSON_LIST && i < list->count; i++)
        if (list->items[i]->kind == JSON_STRING && str_is(list->items[i]->text, text))
            return true;
    return false;
}

static void put_capabilities(StrBuf *out, bool utf8) {
    strbuf_printf(out,
                  "{\"capabilities\": {\"positionEncoding\": \"%s\", \"textDocumentSync\": "
                  "{\"openClose\": true, \"change\": 2, \"save\": {\"includeText\": false}}",
                  utf8 ? "utf-8" : "utf-16");
    for (size_t i = 0; i < METHOD_COUNT; i++)
        if (methods[i].capability[0])
            strbuf_printf(out, ", \"%s\": %s", methods[i].capability, methods[i].value);
    strbuf_printf(out, "}, \"serverInfo\": {\"name\": \"tilec\", \"version\": \"%s\"}}",
                  build_version);
}

void lsp_initialize(Session *session, const Json *params, Answer *answer) {
    const Json *documents = param_find(params, "capabilities.textDocument");
    if (session->is_initialized) {
        answer_fail(answer, LSP_INVALID_REQUEST, "the server is initialized already");
        return;
    }
    session->is_initialized = true;
    session->utf8 =
        lists_text(param_find(params, "capabilities.general.positionEncodings"), "utf-8");
    session->takes_markdown = lists_text(param_find(documents, "hover.contentFormat"), "markdown");
    session->takes_literals = param_find(documents, "codeAction.codeActionLiteralSupport") != NULL;
    settings_read(&session->settings, &answer->ctx->arena,
                  param_find(params, "initializationOptions"));
    put_capabilities(&answer->result, session->utf8);
}

void lsp_initialized(Session *session, const Json *params, Answer *answer) {}

void lsp_shutdown(Session *session, const Json *params, Answer *answer) {
    session->is_shut_down = true;
    strbuf_puts(&answer->result, "null");
}

void lsp_exit(Session *session, const Json *params, Answer *answer) {
    session->has_exited = true;
}

/* Of what the inbox has seen to, or what is of no matter here. */
void lsp_ignore(Session *session, const Json *params, Answer *answer) {}

/* Messages */

static void send_answer(Session *session, const Json *id, const Answer *answer) {
    StrBuf out = strbuf(&answer->ctx->arena);
    strbuf_puts(&out, "{\"jsonrpc\": \"2.0\", \"id\": ");
    if (!id)
        strbuf_puts(&out, "null");
    else if (id->kind == JSON_STRING)
        strbuf_json(&out, id->text);
    else
        strbuf_printf(&out, "%.*s", STR_ARG(id->text));
    if (answer->error) {
        strbuf_printf(&out, ", \"error\": {\"code\": %d, \"message\": ", answer->error);
        strbuf_json(&out, str_from(answer->message));
        strbuf_putc(&out, '}');
    } else {
        strbuf_printf(&out, ", \"result\": %s", answer->result.len ? answer->result.ptr : "null");
    }
    strbuf_putc(&out, '}');
    inbox_send(&session->inbox, strbuf_str(&out));
}

/* Whether the state of the session takes the message; an error of the answer says why not. */
static bool is_timely(const Session *session, const Message *message, Answer *answer) {
    const bool starts = str_is(message->method, "initialize");
    if (message->is_cancelled)
        return answer_fail(answer, LSP_CANCELLED, "the request was cancelled");
    if (!session->is_initialized && !starts && !str_is(message->method, "exit"))
        return answer_fail(answer, LSP_NOT_INITIALIZED, "the server is not initialized");
    if (session->is_shut_down && !str_is(message->method, "exit"))
        return answer_fail(answer, LSP_INVALID_REQUEST, "the server is shut down");
    return true;
}

static void handle(Session *session, const Message *message, Answer *answer) {
    const Method *method = find_method(message->method);
    if (message->error) {
        answer_fail(answer, message->error, "%s", message->wrong);
        return;
    }
    if (!is_timely(session, message, answer))
        return;
    if (!method || method->is_request != (message->id != NULL))
        answer_fail(answer, LSP_METHOD_NOT_FOUND, "there is no %s `%.*s`",
                    message->id ? "request" : "notification", STR_ARG(message->method));
    else
        method->handler(session, message->params, answer);
}

static void serve_message(Session *session, Message *message) {
    Ctx *ctx = message->ctx;
    Answer answer = {.ctx = ctx, .result = strbuf(&ctx->arena)};
    if (setjmp(ctx->oom)) {
        inbox_send(&session->inbox,
                   STR("{\"jsonrpc\": \"2.0\", \"method\": \"window/showMessage\", \"params\": "
                       "{\"type\": 1, \"message\": \"tilec: no memory for a request\"}}"));
        return;
    }
    if (!message->method.len && !message->error)
        return; /* a response: nothing was asked */
    handle(session, message, &answer);
    if (message->id || (message->error && !message->method.len))
        send_answer(session, message->id, &answer);
}

/* Analysis */

/* The document that changed first of those that are to be analysed; NULL: there is none. */
static Document *find_stale(const Session *session) {
    Document *found = NULL;
    for (Document *document = session->documents.first; document; document = document->next)
        if (!document->is_told && (!found || document->changed_ms < found->changed_ms))
            found = document;
    return found;
}

/* How long until a document is to be analysed: -1: there is none. */
static int wait_for(const Session *session) {
    const Document *document = find_stale(session);
    if (!document)
        return -1;
    const double left = document->changed_ms + session->settings.delay_ms - clock_ms();
    return left > 0 ? (int)left + 1 : 0;
}

static void tell(Session *session, Document *document) {
    Ctx *ctx = ctx_create();
    if (ctx && !setjmp(ctx->oom))
        diagnostics_publish(session, document, ctx);
    ctx_destroy(ctx);
}

static void analyse_and_tell(Session *session) {
    Document *document = find_stale(session);
    if (!document || !document_refresh(session, document) || document->is_stale) {
        if (document && !inbox_has_changes(&session->inbox))
            document->changed_ms = clock_ms(); /* again, a little later */
        return;
    }
    tell(session, document);
}

static void serve(Session *session) {
    bool ended = false;
    while (!session->has_exited && !ended && !session->inbox.write_failed) {
        const int wait_ms = wait_for(session);
        Message *message = inbox_take(&session->inbox, wait_ms, &ended);
        if (message) {
            serve_message(session, message);
            message_destroy(message);
        } else if (!ended) {
            analyse_and_tell(session);
        }
    }
}

bool lsp_serve(Ctx *ctx, int in, int out) {
    Session *session = ARENA_NEW(&ctx->arena, Session);
    *session = (Session){.language = ctx};
    settings_default(&session->settings);
    session->signatures = signatures_read(ctx);
    signal(SIGPIPE, SIG_IGN); /* a client that is gone is the end of the input, too */
    if (!inbox_open(&session->inbox, in, out))
        return ctx_diag(ctx, (Span){0}, stack_unavailable, "a thread could not be made");
    serve(session);
    inbox_close(&session->inbox);
    documents_close_all(&session->documents);
    settings_destroy(&session->settings);
    return session->is_shut_down || (!session->is_initialized && !session->has_exited);
}
