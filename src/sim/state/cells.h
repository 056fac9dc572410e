/* Cells: who accessed shared memory last. */
#ifndef TILEC_SIM_STATE_CELLS_H
#define TILEC_SIM_STATE_CELLS_H
#include <stdbool.h>
#include <stdint.h>

/* The last read of a byte by a warp, or its last write. */
typedef struct SharedCell {
    uint32_t epoch; /* of the warp; 0: never */
    uint32_t pc;
    uint16_t
        actor; /* the clock_index of its warp; of a wgmma its reader, the epoch is its number */
    uint8_t lane;
    bool several : 1;  /* lanes of that epoch */
    unsigned kind : 7; /* CellKind */
} SharedCell;

typedef enum CellKind {
    CELL_PLAIN,
    CELL_ATOMIC,
    CELL_COPYING, /* an asynchronous copy that no wait has covered yet */
    CELL_READING, /* read by a bulk copy, the number in `epoch`, that no wait has covered yet */
} CellKind;

/* The last access of a warp to the shared memory of another program. */
typedef struct RemoteAccess {
    uint32_t epoch; /* 0: none */
    uint32_t pc;
    uint32_t lane;
    bool several; /* lanes */
} RemoteAccess;
#endif
