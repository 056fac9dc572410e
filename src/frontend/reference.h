/* What is said of builtins: docs/reference.md, `tilec help NAME`. */
#ifndef TILEC_FRONTEND_REFERENCE_H
#define TILEC_FRONTEND_REFERENCE_H
#include "frontend/signatures.h"

typedef enum ReferenceKind { REFERENCE_SECTION, REFERENCE_FAMILY, REFERENCE_ENTRY } ReferenceKind;

/* What the entries behind it take, up to the next family; reference.def says what the texts are. */
typedef struct ReferenceFamily {
    const char *shapes, *types, *errors, *accuracy;
} ReferenceFamily;

typedef struct ReferenceEntry {
    BuiltinId id;
    const char *since, *meaning, *example, *expected;
} ReferenceEntry;

typedef struct ReferenceRow {
    ReferenceKind kind;
    union {
        const char *section;
        ReferenceFamily family;
        ReferenceEntry entry;
    } u;
} ReferenceRow;

/* In the order of the page. */
const ReferenceRow *reference_rows(size_t *count);

/* The rows for a name as kernels write it, `load`, `tl.load`, `libdevice.pow`, `d.store`: the next
 * one from
 * `*at` on, which is then behind it. NULL: no further ones. */
const ReferenceRow *reference_find(Str name, size_t *at);

/* The name with what stands in front of it, and its parameters: `tl.load(pointer, ..)`. */
void reference_call(const Signatures *signatures, BuiltinId id, StrBuf *out);
/* `Triton 3.2`, or who else has the name. */
void reference_since(const ReferenceEntry *entry, StrBuf *out);
/* One row of kind REFERENCE_ENTRY as plain text, with what its family takes. */
void reference_text(const Signatures *signatures, const ReferenceRow *row, StrBuf *out);
#endif
