/* What a host and its worker send each other.
 *
 * One description serves writing and reading: wire_request and wire_answer name every field once,
 * and a Wire either writes it or fills it. Numbers are 8 bytes, texts their length and their bytes;
 * both sides run on one machine. A reader trusts no length. */
#ifndef TILEC_RUNTIME_COMPILE_WIRE_H
#define TILEC_RUNTIME_COMPILE_WIRE_H
#include "runtime/compile/compile.h"
#include "runtime/compile/recall.h"

enum { WIRE_MESSAGE_LIMIT = 1 << 30 }; /* bytes */

typedef struct Wire {
    Arena *arena;
    StrBuf *out; /* NULL: this side reads */
    Str in;      /* what is left of it */
    bool bad;    /* it does not hold what it should */
} Wire;

typedef struct Answer {
    bool ok;
    Recalled described;
    Str outputs[OUTPUT_COUNT];
    int64_t stage_ns[STAGE_COUNT];
} Answer;

/* Every message begins with it. False, when reading: it is of another build or form. */
bool wire_build(Wire *wire);
/* Strings and lists that are read live in the wire's arena. */
void wire_request(Wire *wire, CompileRequest *request);
void wire_answer(Wire *wire, Answer *answer);
#endif
