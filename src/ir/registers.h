/* How many registers a thread may have, and who says so.
 *
 * `register_request` is what the caller asks for, `register_goal` what passes found so that an SM
 * holds more CTAs, `teams` begin with a number that the hardware fixes. Pass limit-registers, which
 * alone writes `max_registers`, makes one limit of these. `all_registers` takes it back: it is for
 * code whose limit has cost spills (docs/runtime.md, Spills). */
#ifndef TILEC_IR_REGISTERS_H
#define TILEC_IR_REGISTERS_H
#include "ir/ir.h"

/* Of a thread, for what a count of its tiles leaves out. Of the order of what ptxas takes for
 * kernels/ beyond their tiles (bench/registers.py); no source says them. */
enum {
    RESERVE_SCALARS = 16, /* addresses, counters, scalars, what is being computed */
    RESERVE_WGMMA =
        28, /* these, and descriptors and addresses of what wgmma takes from registers */
    RESERVE_COPIES = 32, /* these, and what copies ahead of a loop go by */
    RESERVE_CHAINS = 40, /* these, and masks and fragments between two products in flight */
};

/* A thread is to have no more registers than that, nor more than passes before wanted. True: they
 * wanted more, or nothing. */
bool func_lower_register_goal(Func *func, int32_t registers);
/* What the limit has to be by what caller, passes and teams say; 0: they leave it open. */
int32_t func_asked_registers(const Func *func);
/* The limit that the code is assembled for; 0: none. */
int32_t func_register_limit(const Func *func);
/* The registers that a thread may have where a CTA has so many warps: what the hardware has for all
 * of them at once, and no more than what is asked for or the limit. */
int32_t func_register_room(const Func *func, int32_t warps);
#endif
