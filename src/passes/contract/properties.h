/* Properties of a function between passes: properties.def. Sets of them are what passes.def says of
 * a pass, and what the pipeline knows of a function. */
#ifndef TILEC_PASSES_CONTRACT_PROPERTIES_H
#define TILEC_PASSES_CONTRACT_PROPERTIES_H
#include "ir/ir.h"

enum {
#define PROPERTY(id, needed, meaning) PROPERTY_##id,
#include "passes/contract/properties.def"
    PROPERTY_COUNT
};

typedef enum PropertySet {
    NOTHING = 0,
#define PROPERTY(id, needed, meaning) id = 1 << PROPERTY_##id,
#include "passes/contract/properties.def"
} PropertySet;

typedef struct PropertyInfo {
    const char *name, *needed, *meaning;
} PropertyInfo;
extern const PropertyInfo property_info[PROPERTY_COUNT];

/* Number of the first property of the set that the function lacks, looked up in its IR;
 * PROPERTY_COUNT: it has them all. `where`: an op that breaks it, NULL if it is the function's. */
int property_missing(Func *func, PropertySet set, const Op **where);
#endif
