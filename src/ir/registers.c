/* See registers.h. */
#include "ir/registers.h"
#include "target/target.h"
#include "target/wgmma.h"

/* Of two numbers, 0 is none. */
static int32_t lower(int32_t a, int32_t b) {
    return !a || (b && b < a) ? b : a;
}

bool func_lower_register_goal(Func *func, int32_t registers) {
    int32_t before = func->register_goal;
    func->register_goal = lower(before, registers);
    return func->register_goal != before;
}

/* The producer of teams is a warpgroup. */
int32_t func_asked_registers(const Func *func) {
    if (func->teams > 1)
        return target_registers_for(func->teams * func->num_warps + WGMMA_WARPS);
    return lower(func->register_request, func->register_goal);
}

int32_t func_register_limit(const Func *func) {
    return func->all_registers ? 0 : func->max_registers;
}

int32_t func_register_room(const Func *func, int32_t warps) {
    int32_t room = target_registers_for(warps);
    if (func->all_registers)
        return room;
    return lower(room,
                 lower(func->max_registers, lower(func->register_request, func->register_goal)));
}
