/* Loads that may be delayed past stores: of what all programs share, past stores of what each has
 * of its own.
 *
 * If the address of a load is the same in all programs of a launch (weights) and that of each store
 * depends on the program's number, then the two do not meet: if they did, the programs' accesses
 * would race, so the launch is taken not to write what it loads this way (docs/language.md). */
#ifndef TILEC_IR_DELAY_H
#define TILEC_IR_DELAY_H
#include "ir/ir.h"
#include "ir/ptrmap.h"

/* What was asked about a function so far. Begins with the function and an arena for the map; holds
 * as long as no op of the function changes. */
typedef struct Delays {
    Func *func;
    PtrMap depends; /* op to what its results depend on */
    bool known;     /* whether all stores depend on the program: */
    bool apart;
} Delays;

/* True if the tile that `load` loads may be loaded after stores that follow it, and is narrow
 * enough for that to save registers. */
bool delays_allow(Delays *delays, const Op *load);
#endif
