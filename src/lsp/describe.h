/* Values, functions and builtins in words, for hover and completion. */
#ifndef TILEC_LSP_DESCRIBE_H
#define TILEC_LSP_DESCRIBE_H
#include "lsp/session.h"

/* What a value is, short: `fp32[128, 64]`, `constexpr = 1024`. */
void put_type(StrBuf *out, const Val *value);
/* And in words what the short form does not say; nothing for most. */
void put_shape_words(StrBuf *out, const Val *value);
/* A parameter as it is written; `text` is the function's source. */
void put_param(StrBuf *out, const Param *param, Str text);
/* name(parameters) -> returns */
void put_function(StrBuf *out, const FuncDef *def, Str text);
/* What the reference says of a builtin, Markdown or plain text. */
void put_builtin(StrBuf *out, const Session *session, const Builtin *builtin, bool markdown);
/* The builtin that a function of the language's own files is; NULL: it is none. */
const Builtin *builtin_of_function(const Val *function);
/* A piece of code as its own paragraph. */
void put_code(StrBuf *out, Str code, bool markdown);
/* A docstring without the indentation of its lines. */
void put_docstring(StrBuf *out, Str docstring);
#endif
