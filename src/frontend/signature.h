/* Private to signatures: entries, as texts. */
#ifndef TILEC_FRONTEND_SIGNATURE_H
#define TILEC_FRONTEND_SIGNATURE_H
#include "frontend/elaborate.h"

typedef struct Entries {
    Str *data;
    size_t len, cap;
} Entries;

/* What an entry is read for. */
typedef struct EntryOf {
    Elab *e;
    Unit *unit;
    const Param *param;
    Str name; /* of the parameter, or of the part of it that the entry is for */
    ParamHints hints;
    uint32_t depth; /* of tuples around */
} EntryOf;

/* The type an annotation names; false: it names none. */
bool annotation_type(const Param *param, ScalarType *type);
Str text_trim(Str text);
/* At commas outside brackets and quotes. */
void signature_split(Arena *arena, Str text, Entries *entries);
/* A type, the value of a constexpr, a tuple of entries, or a descriptor. False after a report. */
bool entry_apply(EntryOf *a, Str text, Specialized *out);
/* A literal given on the command line or in a signature. */
Val entry_parse_value(EntryOf *a, Str text);
bool entry_set_value(EntryOf *a, Val v, Specialized *out);
/* Whether an entry is the value of a constexpr, and not a type. */
bool entry_is_value(Arena *arena, const Param *param, Str text);
/* One spelling of types and their promises, less what the kernel is not specialised on; what is no
 * type stays as it is. */
Str entry_spelling(Arena *arena, Str text, ParamHints hints);
#endif
