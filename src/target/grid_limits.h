/* How many blocks a grid has along an axis at most, on every target. */
#ifndef TILEC_TARGET_GRID_LIMITS_H
#define TILEC_TARGET_GRID_LIMITS_H
#include <stdint.h>

enum { TARGET_MAX_GRID_X = INT32_MAX, TARGET_MAX_GRID_YZ = 65535 };

static inline uint32_t target_max_grid(uint32_t axis) {
    return axis ? TARGET_MAX_GRID_YZ : TARGET_MAX_GRID_X;
}
#endif
