/* Diagnostics are data: a list that the caller prints as text or JSON.
 *
 * Every message has an id and a format in diags.def. `diag(diags, span, id, ...)` checks the
 * arguments against the format at compile time, records the message and returns false, so that
 * `return diag(...)` reads as "fails with". A remark or warning that was made already is not kept
 * again. A hint says what to write instead; a note points at a second place.
 *
 * Warnings can be turned off or made errors one by one, before anything is said: diag_choose. */
#ifndef TILEC_SUPPORT_DIAG_H
#define TILEC_SUPPORT_DIAG_H
#include "support/source.h"
#include <inttypes.h>

typedef enum Severity { SEV_REMARK, SEV_WARNING, SEV_ERROR } Severity;

typedef enum DiagId {
#define DIAG(id, severity, format) DIAG_##id,
#include "support/diags.def"
    DIAG_COUNT
} DiagId;

#define DIAG(id, severity, format)                                                                 \
    static const char DIAG_FORMAT_##id[] __attribute__((unused)) = format;
#include "support/diags.def"

/* What becomes of a warning. */
typedef enum DiagChoice { DIAG_SHOWN, DIAG_HIDDEN, DIAG_FAILS } DiagChoice;

typedef struct DiagNote {
    struct DiagNote *next;
    Span span; /* file 0: a hint for the message as a whole */
    const char *text;
    bool is_hint;
} DiagNote;

typedef struct Diagnostic {
    struct Diagnostic *next;
    DiagId id;
    Severity severity;
    Span span; /* file 0: concerns no place in a source */
    const char *text;
    DiagNote *notes;
    uint64_t required, limit; /* of a resource that did not suffice; zeros: it is not about one */
    bool has_program;
    uint32_t program[3]; /* that was running */
} Diagnostic;

typedef struct Diags {
    Arena *arena;
    SourceMap *sources;
    Diagnostic *first, *last;
    unsigned errors, warnings;
    unsigned max_errors;        /* errors kept; further ones are counted only. 0: 20 */
    uint8_t choice[DIAG_COUNT]; /* DiagChoice */
    bool dropped; /* the last message was not kept: its notes and hints are dropped too */
} Diags;

/* The name of an id as written in diags.def, for JSON and for tests. */
const char *diag_name(DiagId id);
/* As written there, whatever was chosen. */
Severity diag_severity(DiagId id);

/* `text`: a warning's name shows it, `no-` in front of one hides it, `error=` makes it an error.
 * The last word about a name counts. False after an error that says what is wrong with the text. */
bool diag_choose(Diags *diags, Str text);

bool diag_emit(Diags *diags, Span span, DiagId id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define diag(diags, span, id, ...)                                                                 \
    diag_emit((diags), (span), DIAG_##id, DIAG_FORMAT_##id __VA_OPT__(, ) __VA_ARGS__)

/* They add to the last message recorded. */
void diag_hint(Diags *diags, const char *format, ...) __attribute__((format(printf, 2, 3)));
void diag_note(Diags *diags, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* These as well, what it says in words as numbers: how much was wanted of a resource, and is there;
 * the program that ran into it. */
void diag_resource(Diags *diags, uint64_t required, uint64_t limit);
void diag_program(Diags *diags, const uint32_t program[3]);

/* What has been said up to now; lives as long as the diagnostics. */
typedef struct DiagMark {
    Diagnostic *last;
    unsigned errors, warnings;
    bool dropped;
} DiagMark;
DiagMark diag_mark(const Diags *diags);
/* Was anything kept since then? */
bool diag_said_since(const Diags *diags, DiagMark mark);
/* Drops what was said since then: of an attempt that another way took the place of. */
void diag_rewind(Diags *diags, DiagMark mark);
/* The same, and the last of what was dropped: why the attempt came to nothing. */
typedef struct DiagReason {
    const char *text; /* "": nothing was said */
    Span span;        /* where; `otherwise`, if nothing was said */
    DiagId id;        /* DIAG_COUNT likewise */
} DiagReason;
DiagReason diag_take(Diags *diags, DiagMark mark, Span otherwise);

/* Adds what `from` says, of another context, with copies of the texts and of the sources that it is
 * about; what was chosen for warnings there holds. */
void diag_append(Diags *diags, const Diags *from);

/* True while no further errors would be kept: the parser stops then. */
bool diag_full(const Diags *diags);

/* path:line:column: severity: text, the source line, a caret, then notes and hints. */
void diag_print(const Diags *diags, const Diagnostic *diagnostic, StrBuf *out);
void diag_print_all(const Diags *diags, StrBuf *out);
/* A JSON array of {severity, id, message, file, line, column, end_line, end_column, required,
 * limit, program, notes}. */
void diag_json(const Diags *diags, StrBuf *out);
#endif
