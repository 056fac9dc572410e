/* What was measured, kept in the cache: an entry for each configuration, beside the kernels, and
 * shared as they are (docs/caches.md).
 *
 * The key is a text of everything that a time depends on: the compiler, the device and its driver,
 * what the kernel reaches in its file, the values and types that the function tunes by, and the
 * configuration. What else differs between calls, such as alignment, counts as the first call had
 * it. */
#ifndef TILEC_RUNTIME_TUNE_STORE_H
#define TILEC_RUNTIME_TUNE_STORE_H
#include "runtime/cache/cache.h"
#include "runtime/driver/driver.h"

/* What the configurations of one tuning have in common. */
typedef struct TuneSubject {
    Str kernel;  /* its name */
    Str code;    /* what it depends on in its file (frontend/reach.h), or the file */
    Str key;     /* "n=1024, x=*fp32": what it is tuned by */
    Str options; /* other options that decide its code */
    const Device *device;
} TuneSubject;

typedef struct TuneRecord {
    double ms;  /* of a launch, the median; infinite: it was struck out */
    Str reason; /* why, if it was */
} TuneRecord;

/* Whether the configuration was measured before; texts are the arena's. */
bool tune_recall(Cache *cache, Arena *arena, const TuneSubject *subject, const char *config,
                 TuneRecord *record);
/* 0 or an errno. */
int tune_remember(Cache *cache, Arena *arena, const TuneSubject *subject, const char *config,
                  const TuneRecord *record);
/* The kernel's name in an entry's "tuned" section; empty: that is none. */
Str tune_kernel_of(Str section);
#endif
