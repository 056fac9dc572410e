/* Branches, calls, exits, printf and assert. */
#include "sim/check/findings.h"
#include "sim/exec/barrier.h"
#include "sim/exec/bulk.h"
#include "sim/exec/cluster.h"
#include "sim/exec/exec_stack.h"
#include "sim/exec/memory.h"
#include "sim/exec/registers.h"
#include "sim/exec/splits.h"
#include "sim/exec/wgmma.h"
#include "sim/parse/table.h"
#include "sim/state/program.h"

#include <stdio.h>

/* Threads of a split exit. */
static void warp_exit(Warp *warp, Split *split, uint32_t mask) {
    warp->alive &= ~mask;
    for (Split *at = split; at; at = at->parent)
        at->mask &= ~mask;
    if (!split->mask)
        split_end(warp, split);
    splits_recheck(warp);
    if (!warp->alive) {
        wgmma_warp_exits(warp);
        bulk_warp_exit(warp);
        barrier_recheck(warp->cta);
        registers_exit(warp);
    }
    if (warp->cta->cluster->size > 1)
        cluster_exit(warp);
}

ExecResult exec_bra(Warp *warp, const Insn *insn, uint32_t mask) {
    split_branch(warp, mask, mask, insn->target, insn->reconverge);
    return EXEC_JUMPED;
}

/* Threads with the first thread's index go together; the rest of the split runs the branch again.
 */
ExecResult exec_brx(Warp *warp, const Insn *insn, uint32_t mask) {
    Split *split = warp->current;
    const Reg *index = reg_of(warp, insn->operand[0].reg);
    uint32_t first = (uint32_t)__builtin_ctz(mask), same = 0, rest = split->mask;
    if (!reg_require(warp, insn, index, mask, "the index of a branch"))
        return EXEC_NEXT;
    uint32_t chosen = (uint32_t)index->v[first];
    if (chosen >= insn->table_count) {
        report(warp, insn, first, sim_branch_index, chosen, insn->table_count);
        warp_exit(warp, split, mask);
        return EXEC_JUMPED;
    }
    FOR_LANES(lane, mask)
    same |= (uint32_t)((uint32_t)index->v[lane] == chosen) << lane;
    uint32_t target = insn->table[chosen];
    if (same == rest) {
        split->pc = target;
        return EXEC_JUMPED;
    }
    /* The others come back here in a split of their own; branch() lets them fall through, so they
     * are set back. */
    uint32_t here = split->pc;
    split->pc = here - 1;
    split_branch(warp, same, mask, target, insn->reconverge);
    return EXEC_JUMPED;
}

/* Bytes of an argument or a result in the frame's local memory, for one lane. */
static uint8_t *param_bytes(Warp *warp, uint64_t address, uint32_t lane, uint8_t **defined) {
    uint64_t at = lane * warp->local_bytes + address;
    *defined = warp->local_def + at;
    return warp->local + at;
}

static void copy_bytes(Warp *warp, uint32_t mask, uint64_t to, uint64_t from, uint64_t size) {
    FOR_LANES(lane, mask) {
        uint8_t *from_def, *to_def;
        const uint8_t *source = param_bytes(warp, from, lane, &from_def);
        uint8_t *dest = param_bytes(warp, to, lane, &to_def);
        memmove(dest, source, size);
        memmove(to_def, from_def, size);
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Arguments go from the caller's frame to the callee's parameters; results the other way. */
static void pass_arguments(Warp *warp, const Call *call, const Func *callee, Frame *caller,
                           Frame *frame, uint32_t mask) {
    for (uint32_t i = 0; i < call->arg_count && i < callee->params.len; i++) {
        const Operand *arg = &call->args[i];
        const Variable *param = callee->params.data[i];
        warp->current->frame = caller;
        Reg *from = reg_of(warp, arg->reg);
        uint32_t first = (uint32_t)__builtin_ctz(mask);
        warp->current->frame = frame;
        if (!param) {
            Reg *to = &frame->regs[callee->param_regs.data[i]];
            FOR_LANES(lane, mask) {
                to->v[lane] = from->v[lane];
                to->def[lane] = from->def[lane];
            }
        } else if (arg->kind == OPERAND_ADDRESS) {
            copy_bytes(warp, mask, frame->local_base + param->address, from->v[first],
                       least(param->size, arg->count));
        }
    }
}

ExecResult exec_return(Warp *warp, const Insn *insn, uint32_t mask) {
    Split *split = warp->current;
    Frame *frame = split->frame, *caller = frame->caller;
    if (!caller) {
        warp_exit(warp, split, mask);
        return EXEC_JUMPED;
    }
    const Call *call = frame->call->call;
    const Func *callee = frame->func;
    for (uint32_t i = 0; i < call->result_count && i < callee->results.len; i++) {
        const Operand *result = &call->results[i];
        const Variable *param = callee->results.data[i];
        split->frame = caller;
        Reg *to = reg_of(warp, result->reg);
        uint32_t first = (uint32_t)__builtin_ctz(mask);
        if (!param) {
            const Reg *from = &frame->regs[callee->result_regs.data[i]];
            FOR_LANES(lane, mask) {
                to->v[lane] = from->v[lane];
                to->def[lane] = from->def[lane];
            }
        } else if (result->kind == OPERAND_ADDRESS) {
            copy_bytes(warp, mask, to->v[first], frame->local_base + param->address,
                       least(param->size, result->count));
        }
    }
    split->frame = caller;
    split->pc = frame->return_pc;
    stack_leave(warp, frame, mask);
    wgmma_leave(warp, insn, frame);
    frame_close(warp, frame);
    return EXEC_JUMPED;
}

static uint64_t read_argument(Warp *warp, const Operand *arg, uint32_t lane, uint32_t size) {
    const Reg *reg = reg_of(warp, arg->reg);
    uint64_t value = 0;
    uint8_t *defined;
    if (arg->kind != OPERAND_ADDRESS)
        return reg->v[lane];
    memcpy(&value, param_bytes(warp, reg->v[lane], lane, &defined), least(size, arg->count));
    return value;
}

/* A terminated text at a generic address; as much of it as is mapped. */
static const char *read_text(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address) {
    StrBuf text = strbuf(warp->machine->arena);
    strbuf_puts(&text, "");
    for (unsigned i = 0; i < 65536; i++) {
        Target target;
        if (!memory_find(warp, insn, lane, SPACE_generic, address + i, 1, ACCESS_READ, &target) ||
            !*target.data)
            break;
        strbuf_putc(&text, (char)*target.data);
    }
    return text.ptr ? text.ptr : "";
}

/* One conversion of a format, with its value of 4 or 8 bytes from the argument buffer. */
static void print_conversion(Warp *warp, const Insn *insn, uint32_t lane, const char *begin,
                             size_t length, uint64_t *cursor, StrBuf *out) {
    char kind = begin[length - 1], format[40];
    bool wide = kind == 's' || kind == 'p' || strchr("fFeEgGaA", kind) != NULL ||
                memchr(begin, 'l', length) || memchr(begin, 'z', length) ||
                memchr(begin, 'j', length);
    uint32_t size = wide ? 8 : 4;
    Target target;
    uint64_t value = 0;
    *cursor = (*cursor + size - 1) / size * size;
    if (memory_find(warp, insn, lane, SPACE_generic, *cursor, size, ACCESS_READ, &target))
        memcpy(&value, target.data, size);
    *cursor += size;
    /* The flags, width and precision, then a length this host has. */
    size_t kept = 0;
    for (size_t i = 0; i + 1 < length && kept < 30; i++)
        if (!strchr("lhzjtq", begin[i]))
            format[kept++] = begin[i];
    const char *suffix = strchr("fFeEgGaA", kind) || kind == 's' || kind == 'c' ? ""
                         : kind == 'p'                                          ? "#l"
                                                                                : "l";
    snprintf(format + kept, sizeof format - kept, "%s%c", suffix, kind == 'p' ? 'x' : kind);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    double number;
    memcpy(&number, &value, 8);
    if (kind == 's')
        strbuf_printf(out, format, read_text(warp, insn, lane, value));
    else if (strchr("fFeEgGaA", kind))
        strbuf_printf(out, format, number);
    else if (kind == 'c')
        strbuf_printf(out, format, (int)value);
    else if (kind == 'd' || kind == 'i')
        strbuf_printf(out, format, wide ? (long)value : (long)(int32_t)value);
    else
        strbuf_printf(out, format, (unsigned long)value);
#pragma GCC diagnostic pop
}

static void print_formatted(Warp *warp, const Insn *insn, uint32_t lane, const char *format,
                            uint64_t buffer, StrBuf *out) {
    for (const char *at = format; *at;) {
        if (*at != '%') {
            strbuf_putc(out, *at++);
            continue;
        }
        if (at[1] == '%') {
            strbuf_putc(out, '%');
            at += 2;
            continue;
        }
        size_t length = 1;
        while (at[length] && strchr("0123456789.-+ #lhzjtq", at[length]))
            length++;
        if (!at[length] || !strchr("diouxXcspfFeEgGaA", at[length]) || length > 24) {
            strbuf_putc(out, *at++);
            continue;
        }
        print_conversion(warp, insn, lane, at, length + 1, &buffer, out);
        at += length + 1;
    }
}

static void call_vprintf(Warp *warp, const Insn *insn, uint32_t mask) {
    const Call *call = insn->call;
    StrBuf *out = warp->machine->launch->output;
    FOR_LANES(lane, mask) {
        const char *format =
            read_text(warp, insn, lane, read_argument(warp, &call->args[0], lane, 8));
        uint64_t buffer = read_argument(warp, &call->args[1], lane, 8);
        if (out)
            print_formatted(warp, insn, lane, format, buffer, out);
        for (uint32_t i = 0; i < call->result_count; i++) {
            uint8_t *defined;
            const Operand *result = &call->results[i];
            const Reg *to = reg_of(warp, result->reg);
            if (result->kind != OPERAND_ADDRESS)
                continue;
            memset(param_bytes(warp, to->v[lane], lane, &defined), 0, result->count);
            memset(defined, BYTE_DEFINED, result->count);
        }
    }
}

/* __assertfail(message, file, line, function, size of a character) */
static void call_assert(Warp *warp, const Insn *insn, uint32_t mask) {
    const Call *call = insn->call;
    uint32_t lane = (uint32_t)__builtin_ctz(mask);
    const char *message = read_text(warp, insn, lane, read_argument(warp, &call->args[0], lane, 8));
    const char *file = read_text(warp, insn, lane, read_argument(warp, &call->args[1], lane, 8));
    unsigned line = (unsigned)read_argument(warp, &call->args[2], lane, 4);
    report(warp, insn, lane, sim_assert, message, file, line);
    warp->machine->stop = true;
}

/* The threads whose pointer is that of the first one. */
static uint32_t same_target(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *pointer = reg_of(warp, insn->call->pointer.reg);
    uint64_t address = pointer->v[__builtin_ctz(mask)];
    uint32_t same = 0;
    FOR_LANES(lane, mask)
    same |= (uint32_t)(pointer->v[lane] == address) << lane;
    return same;
}

static const Func *callee_of(Warp *warp, const Insn *insn, uint32_t mask) {
    const Call *call = insn->call;
    if (call->kind != CALL_INDIRECT)
        return call->callee;
    const SimModule *module = warp->machine->module;
    const Reg *pointer = reg_of(warp, call->pointer.reg);
    uint32_t first = (uint32_t)__builtin_ctz(mask);
    if (!reg_require(warp, insn, pointer, mask, "the function called"))
        return NULL;
    uint64_t address = pointer->v[first];
    const Func *callee =
        address && address <= module->funcs.len ? module->funcs.data[address - 1] : NULL;
    if (!callee || !callee->has_body || callee->is_entry) {
        report(warp, insn, first, sim_call_target, address);
        return NULL;
    }
    if (callee->params.len != call->arg_count || callee->results.len != call->result_count) {
        report(warp, insn, first, sim_call_shape, STR_ARG(callee->name),
               (unsigned)callee->params.len, (unsigned)callee->results.len, call->arg_count,
               call->result_count);
        return NULL;
    }
    return callee;
}

ExecResult exec_call(Warp *warp, const Insn *insn, uint32_t mask) {
    const Call *call = insn->call;
    Split *split = warp->current;
    if (call->kind == CALL_VPRINTF) {
        call_vprintf(warp, insn, mask);
        return EXEC_NEXT;
    }
    if (call->kind == CALL_ASSERT) {
        call_assert(warp, insn, mask);
        return EXEC_NEXT;
    }
    /* Threads that call different functions part; each part comes here again, and they meet behind
     * the call. */
    uint32_t same = call->kind == CALL_INDIRECT ? same_target(warp, insn, mask) : mask;
    if (same != mask) {
        uint32_t here = split->pc--;
        split_branch(warp, same, split->mask, here, here + 1);
        return EXEC_JUMPED;
    }
    const Func *callee = callee_of(warp, insn, mask);
    if (!callee)
        return EXEC_NEXT;
    Frame *caller = split->frame;
    if (caller->depth + 1 >= MAX_CALL_DEPTH) {
        report(warp, insn, (uint32_t)__builtin_ctz(mask), sim_call_depth, (int)MAX_CALL_DEPTH);
        warp_exit(warp, split, split->mask);
        return EXEC_JUMPED;
    }
    /* A guarded call: the threads that call leave the others behind it. */
    if (mask != split->mask) {
        uint32_t behind = split->pc + 1;
        split_branch(warp, mask, mask, split->pc, behind);
        for (unsigned i = 0; i < MAX_SPLITS; i++)
            if (warp->splits[i].used && warp->splits[i].parent == split &&
                warp->splits[i].mask == mask)
                warp->current = split = &warp->splits[i];
    }
    Frame *frame = frame_open(warp, callee, caller, insn);
    frame->return_pc = split->pc + 1;
    pass_arguments(warp, call, callee, caller, frame, mask);
    split->frame = frame;
    split->pc = callee->begin;
    return EXEC_JUMPED;
}

ExecResult exec_exit(Warp *warp, const Insn *insn, uint32_t mask) {
    Split *split = warp->current;
    warp_exit(warp, split, mask);
    split->pc++;
    return EXEC_JUMPED;
}

ExecResult exec_trap(Warp *warp, const Insn *insn, uint32_t mask) {
    report(warp, insn, (uint32_t)__builtin_ctz(mask), sim_trap, insn->row->name);
    warp->machine->stop = true;
    return EXEC_NEXT;
}

ExecResult exec_sleep(Warp *warp, const Insn *insn, uint32_t mask) {
    reg_require(warp, insn, reg_of(warp, insn->operand[0].reg), mask, "the time to sleep");
    return EXEC_YIELD;
}
