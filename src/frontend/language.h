/* The versions of the language: what differs between Triton 3.2 and 3.9, from language.def. A
 * version is 36 for 3.6. */
#ifndef TILEC_FRONTEND_LANGUAGE_H
#define TILEC_FRONTEND_LANGUAGE_H
#include "frontend/elaborate.h"

typedef enum LanguageChange {
#define CHANGE(id, since, now, construct, before, after) LANGUAGE_##id,
#include "frontend/language.def"
    LANGUAGE_CHANGE_COUNT
} LanguageChange;

typedef enum LanguageFeature {
#define FEATURE(id, since, construct) LANGUAGE_HAS_##id,
#include "frontend/language.def"
    LANGUAGE_FEATURE_COUNT
} LanguageFeature;

typedef enum LanguageEnd {
#define ENDED(id, last, construct) LANGUAGE_ENDED_##id,
#include "frontend/language.def"
    LANGUAGE_END_COUNT
} LanguageEnd;

typedef struct LanguageChangeRow {
    const char *name;
    int32_t since;
    bool holds; /* where no version is asked for */
    const char *construct, *before, *after;
} LanguageChangeRow;

/* What exists from a version on, or up to one. */
typedef struct LanguageRow {
    const char *name;
    int32_t version;
    const char *construct;
} LanguageRow;

typedef struct LanguageParameter {
    BuiltinId builtin;
    const char *name;
    int32_t since;
} LanguageParameter;

extern const LanguageChangeRow language_changes[LANGUAGE_CHANGE_COUNT];
extern const LanguageRow language_features[LANGUAGE_FEATURE_COUNT];
extern const LanguageRow language_ends[LANGUAGE_END_COUNT];
extern const LanguageParameter language_parameters[];
extern const size_t language_parameter_count;

/* The version that a name came with, of reference.def; 0: before 3.2, or it is none of Triton's. */
int32_t language_since(BuiltinId id);

/* Of an elaboration (elaborate_language.c) */

/* Whether what changed has its later meaning. */
bool elab_has_changed(const Elab *e, LanguageChange change);
/* The same of a place where both meanings differ; where no version is asked for and a later one
 * means something else a remark says so, once a kernel. */
bool elab_means_new(Elab *e, Span span, LanguageChange change);
/* False after a report: the version that is asked for lacks it. What the language's own files say
 * is of no version. */
bool elab_has_feature(Elab *e, Span span, LanguageFeature feature);
bool elab_has_builtin(Elab *e, Span span, const Builtin *builtin);
/* Of the arguments with a name. */
bool elab_has_parameters(Elab *e, const Builtin *builtin, const Arg *args, uint32_t count);
/* What the version that is asked for has no more is kept, with a warning. */
void elab_warn_ended(Elab *e, Span span, LanguageEnd end);
#endif
