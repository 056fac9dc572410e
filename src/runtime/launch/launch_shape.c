/* The blocks that run a grid of programs; see launch.h. */
#include "runtime/launch/launch.h"

LaunchShape launch_shape(const KernelMeta *meta) {
    return (LaunchShape){.is_persistent = meta->is_persistent,
                         .programs_per_cta =
                             meta->programs_per_cta > 1 ? (uint32_t)meta->programs_per_cta : 1};
}

/* Programs of the grid; false: they are too many for a persistent kernel. */
static bool count_programs(const uint32_t grid[3], uint32_t *programs) {
    uint64_t plane = (uint64_t)grid[0] * grid[1];
    *programs = 0;
    if (plane == 0 || grid[2] == 0)
        return true;
    if (plane > LAUNCH_MAX_PERSISTENT || plane * grid[2] > LAUNCH_MAX_PERSISTENT)
        return false;
    *programs = (uint32_t)(plane * grid[2]);
    return true;
}

bool launch_shape_blocks(const LaunchShape *shape, const uint32_t grid[3], uint32_t blocks[3]) {
    if (!shape->is_persistent) {
        uint64_t each = shape->programs_per_cta;
        blocks[0] = (uint32_t)((grid[0] + each - 1) / each);
        blocks[1] = grid[1];
        blocks[2] = grid[2];
        return true;
    }
    uint32_t programs;
    bool countable = count_programs(grid, &programs);
    blocks[0] = programs < shape->resident_ctas ? programs : shape->resident_ctas;
    blocks[1] = blocks[2] = 1;
    return countable;
}
