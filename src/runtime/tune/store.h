/* What was measured, kept in the cache: an entry for each configuration, beside the kernels, and
 * shared as they are (docs/caches.md).
 *
 * The key is a text of everything that a time depends on: the compiler, the device and its driver,
 * what the kernel reaches in its file, the values and types that the function tunes by, and the
 * configuration. What else differs between calls, such as alignment, counts as the first call had
 * it. It is an object of JSON, so that entries can be listed, and written down elsewhere, in the
 * same words (exchange.h). */
#ifndef TILEC_RUNTIME_TUNE_STORE_H
#define TILEC_RUNTIME_TUNE_STORE_H
#include "runtime/cache/cache.h"
#include "runtime/driver/driver.h"
#include "support/json.h"

/* What the configurations of one tuning have in common. */
typedef struct TuneSubject {
    Str kernel;  /* its name */
    Str code;    /* what it depends on in its file (frontend/reach.h), or the file */
    Str key;     /* "n=1024, x=*fp32": what it is tuned by */
    Str options; /* other options that decide its code */
    const Device *device;
} TuneSubject;

typedef struct TuneRecord {
    double ms;  /* of a launch (measure.h); infinite: it was struck out */
    Str reason; /* why, if it was */
} TuneRecord;

/* What an entry is of: TUNE_FIELDS(X), X(field, name). */
#define TUNE_FIELDS(X)                                                                             \
    X(kernel, "kernel")                                                                            \
    X(device, "device")                                                                            \
    X(driver, "driver")                                                                            \
    X(compiler, "compiler")                                                                        \
    X(code, "code")                                                                                \
    X(options, "options")                                                                          \
    X(key, "key")                                                                                  \
    X(config, "configuration")

typedef enum TuneField {
#define TUNE_FIELD(field, name) TUNE_##field,
    TUNE_FIELDS(TUNE_FIELD)
#undef TUNE_FIELD
        TUNE_FIELD_COUNT
} TuneField;

typedef struct TuneEntry {
    Str fields[TUNE_FIELD_COUNT];
    TuneRecord record;
} TuneEntry;

/* "kernel", ..: what a field is called in JSON. */
const char *tune_field_name(TuneField field);
/* The entry of a configuration, without a record. */
TuneEntry tune_entry(Arena *arena, const TuneSubject *subject, const char *config);
/* `"kernel": "k", ..`: the members that say what it is of. */
void tune_entry_members(const TuneEntry *entry, StrBuf *out);
/* Reads these of an object; other members are passed over. NULL, or the name of one that is
 * missing, or no string: then *at is it, or the object. */
const char *tune_entry_read(const Json *object, TuneEntry *entry, const Json **at);

/* Whether it was measured before: fills in the record, whose texts are the arena's. */
bool tune_recall(Cache *cache, Arena *arena, TuneEntry *entry);
/* Keeps its record; 0 or an errno. */
int tune_remember(Cache *cache, Arena *arena, const TuneEntry *entry);

/* Calls `visit` for every record in the folders, in no order, the same one for each folder that has
 * it; entries live as long as a call. A folder that cannot be read has none. `visit` may jump by
 * the arena that it is given, and by no other. */
typedef void TuneVisitor(void *user, Arena *arena, const TuneEntry *entry);
void tune_visit(Cache *cache, Arena *arena, TuneVisitor *visit, void *user);

/* The kernel's name in an entry's "tuned" section; empty: that is none. */
Str tune_kernel_of(Str section);
#endif
