/* The interpreter's engine: compiles a function into instructions, runs it program by program, and
 * holds the values. The ops themselves are in interp_*.c, found through a table made from ops.def.
 *
 * Values die after their last use. Uses inside a region count for the op that owns the region, in
 * the block that defines the value, so that a loop's body may read the value in every iteration. */
#include "interp/interp_internal.h"

/* The op table */

static const struct {
    InterpFn *run;
    ElemFn *elem;
} interp_table[OP_COUNT] = {
#define OP_E(name, ...) [OP_##name] = {interp_elementwise, elem_##name},
#define OP(name, ...) [OP_##name] = {interp_##name, NULL},
#define OP_R(name, ...) [OP_##name] = {interp_##name, NULL},
#include "ir/ops.def"
};

/* Buffers */

enum { MIN_SIZE_CLASS = 5 };

Buf *buf_new(Run *run, size_t bytes) {
    uint32_t size_class = MIN_SIZE_CLASS;
    while (((size_t)1 << size_class) < bytes)
        size_class++;
    Buf *buf = run->free_bufs[size_class];
    if (buf) {
        run->free_bufs[size_class] = buf->next_free;
    } else {
        buf = arena_alloc(run->arena, sizeof *buf + ((size_t)1 << size_class));
        buf->size_class = size_class;
    }
    buf->refs = 1;
    return buf;
}

void buf_release(Run *run, Buf *buf) {
    if (!buf || --buf->refs)
        return;
    buf->next_free = run->free_bufs[buf->size_class];
    run->free_bufs[buf->size_class] = buf;
}

/* Slots */

void slot_clear(Run *run, Slot *slot) {
    buf_release(run, slot->data_buf);
    buf_release(run, slot->undef_buf);
    *slot = (Slot){0};
}

void *slot_new(Run *run, Slot *slot, uint32_t n, size_t element_bytes) {
    slot_clear(run, slot);
    slot->data_buf = buf_new(run, n * element_bytes);
    slot->data = slot->data_buf->bytes;
    slot->n = n;
    return slot->data;
}

uint8_t *slot_new_undef(Run *run, Slot *slot) {
    buf_release(run, slot->undef_buf);
    slot->undef_buf = buf_new(run, slot->n);
    slot->undef = slot->undef_buf->bytes;
    return memset(slot->undef, 0, slot->n);
}

void slot_view(Run *run, Slot *to, const Slot *from, uint32_t first, uint32_t n,
               size_t element_bytes) {
    Slot view = *from;
    view.n = n;
    view.data += first * element_bytes;
    view.data_buf->refs++;
    if (view.undef) {
        view.undef += first;
        view.undef_buf->refs++;
    }
    slot_clear(run, to);
    *to = view;
}

void slot_share(Run *run, Slot *to, const Slot *from) {
    slot_view(run, to, from, 0, from->n, 0);
}

void slot_settle(Run *run, Slot *slot) {
    if (!slot->undef)
        return;
    uint8_t any = 0;
    for (uint32_t i = 0; i < slot->n; i++)
        any |= slot->undef[i];
    if (any)
        return;
    buf_release(run, slot->undef_buf);
    slot->undef_buf = NULL;
    slot->undef = NULL;
}

void slot_expand(Run *run, Slot *to, const Slot *from, uint32_t n, size_t element_bytes) {
    if (from->n == n) {
        slot_share(run, to, from);
        return;
    }
    Slot wide = {0};
    int64_t shape = n, stride = 0;
    copy_strided(slot_new(run, &wide, n, element_bytes), from->data, element_bytes, 1, &shape,
                 &stride);
    if (from->undef && from->undef[0])
        memset(slot_new_undef(run, &wide), from->undef[0], n);
    slot_clear(run, to);
    *to = wide;
}

Slot *new_result(Run *run, const Op *op, uint32_t index) {
    const Value *value = &op->out[index];
    Slot *slot = value_slot(run, value);
    slot_new(run, slot, run_numel(run, value->type), (size_t)type_element_bytes(value->type));
    return slot;
}

int64_t slot_int(const Slot *slot, const Type *type, uint32_t i) {
    const uint8_t *at = slot->data + (size_t)i * (size_t)type_element_bytes(type);
    switch (type_element_bytes(type)) {
    case 1:
        return type_is_bool(type) ? *at : (int8_t)*at;
    case 2:
        return *(const int16_t *)at;
    case 4:
        return *(const int32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

/* Compilation */

typedef struct Compiler {
    Run *run;
    bool *placed; /* by Value.id: its death has been placed already, walking backwards */
} Compiler;

static void add_dead(Compiler *compiler, const Block *block, const Value *value, Inst *inst,
                     uint32_t *capacity) {
    if (value_block(value) != block || compiler->placed[value->id])
        return;
    compiler->placed[value->id] = true;
    if (inst->ndead == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 4;
        inst->dead = arena_grow(compiler->run->arena, inst->dead, inst->ndead * sizeof *inst->dead,
                                *capacity * sizeof *inst->dead);
    }
    inst->dead[inst->ndead++] = value;
}

/* Values of `block` that `op` or an op inside its regions reads and no later op does. */
static void add_deaths(Compiler *compiler, const Block *block, const Op *op, Inst *inst,
                       uint32_t *capacity) {
    for (uint32_t i = 0; i < op->nin; i++)
        add_dead(compiler, block, op->in[i].value, inst, capacity);
    for (uint32_t r = 0; r < op->nregions; r++)
        block_for_each (inner, op->regions[r])
            add_deaths(compiler, block, inner, inst, capacity);
}

/* What interp_check_delays needs lives until the block's end. */
static void keep_delayed(Compiler *compiler, const Block *block, Inst *end, uint32_t *capacity) {
    block_for_each (op, block) {
        if (!op_may_delay(op))
            continue;
        add_deaths(compiler, block, op, end, capacity);
        add_dead(compiler, block, op_out(op), end, capacity);
    }
}

static bool region_is_elementwise(const Block *block) {
    block_for_each (op, block) {
        if (!op_has(op, ELEMENTWISE | TERMINATOR | CONSTANT))
            return false;
    }
    return true;
}

static void compile_block(Compiler *compiler, const Block *block, InstBlock *out);

/* About so many: a product takes as many for each element as its operands are long. */
static uint64_t work_of(const Op *op) {
    uint64_t work = 1;
    for (uint32_t i = 0; i < op->nout; i++)
        work += (uint64_t)type_numel(op->out[i].type);
    for (uint32_t i = 0; i < op->nin; i++)
        if (op_has(op, COMBINES) || op->nout == 0)
            work += (uint64_t)type_numel(op_in(op, i)->type);
    if (op->code == OP_dot || op_is_wgmma(op)) {
        const Type *a = op_in(op, 0)->type;
        work *= (uint64_t)a->shape[a->rank - 1];
    }
    return work;
}

static void compile_op(Compiler *compiler, const Block *block, const Op *op, Inst *inst) {
    Arena *arena = compiler->run->arena;
    *inst = (Inst){.op = op,
                   .run = interp_table[op->code].run,
                   .elem = interp_table[op->code].elem,
                   .work = work_of(op)};
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < op->nout; i++)
        if (value_unused(&op->out[i]))
            add_dead(compiler, block, &op->out[i], inst, &capacity);
    add_deaths(compiler, block, op, inst, &capacity);
    if (op_has(op, TERMINATOR))
        keep_delayed(compiler, block, inst, &capacity);
    if (!op->nregions)
        return;
    uint32_t carried = op_has(op, COMBINES)     ? COMBINE_SLOTS * op->nin
                       : op_has(op, BY_ELEMENT) ? op->nin + 2 * op->nout
                       : op->nout > op->nin     ? op->nout
                                                : op->nin;
    inst->carry = ARENA_ARRAY(arena, Slot, carried);
    inst->regions = ARENA_ARRAY(arena, InstBlock, op->nregions);
    inst->vectorised = true;
    for (uint32_t r = 0; r < op->nregions; r++) {
        compile_block(compiler, op->regions[r], &inst->regions[r]);
        inst->vectorised = inst->vectorised && region_is_elementwise(op->regions[r]);
    }
}

static void compile_block(Compiler *compiler, const Block *block, InstBlock *out) {
    uint32_t count = 0;
    block_for_each (op, block)
        count++;
    *out = (InstBlock){block, ARENA_ARRAY(compiler->run->arena, Inst, count), count, false};
    const Op *op = block->last;
    for (uint32_t i = count; i-- > 0; op = op->prev) {
        compile_op(compiler, block, op, &out->insts[i]);
        out->may_delay |= op_may_delay(op);
    }
}

/* Execution */

void release_dead(Run *run, const Inst *inst) {
    for (uint32_t i = 0; i < inst->ndead; i++)
        slot_clear(run, value_slot(run, inst->dead[i]));
}

/* A loop of a program may never end, and takes no memory that would show a cancellation. */
enum { STEPS_BETWEEN_CHECKS = 256 };

static bool count_step(Run *run, const Inst *inst) {
    uint64_t limit = run->options->max_steps, max_work = run->options->max_work;
    run->work += inst->work;
    if (run->steps % STEPS_BETWEEN_CHECKS == 0)
        arena_check(run->arena);
    if ((++run->steps <= limit || !limit) && (run->work <= max_work || !max_work))
        return true;
    if (limit && run->steps > limit)
        finding(run, inst->op, interp_steps, (unsigned long long)limit,
                finding_place(run, NULL, 0));
    else
        finding(run, inst->op, interp_work, (unsigned long long)max_work,
                finding_place(run, NULL, 0));
    if (run->options->gave_up)
        *run->options->gave_up = true;
    run->stopped = true;
    return false;
}

const Inst *run_block(Run *run, const InstBlock *block) {
    for (uint32_t i = 0; i < block->count; i++) {
        const Inst *inst = &block->insts[i];
        if (!count_step(run, inst))
            return NULL;
        if (op_has(inst->op, TERMINATOR))
            interp_check_delays(run, block);
        inst->run(run, inst);
        if (run_halted(run))
            return NULL;
        if (op_has(inst->op, TERMINATOR))
            return inst;
        release_dead(run, inst);
    }
    return NULL;
}

/* Moves the terminator's operands from `first` on into inst->carry, then lets the rest of them die.
 */
static void carry_from(Run *run, const Inst *inst, const Inst *terminator, uint32_t first) {
    const Op *op = terminator->op;
    for (uint32_t i = first; i < op->nin; i++)
        slot_share(run, &inst->carry[i - first], in_slot(run, op, i));
    release_dead(run, terminator);
}

static void move_slot(Run *run, Slot *to, Slot *from) {
    slot_clear(run, to);
    *to = *from;
    *from = (Slot){0};
}

static void carry_to_args(Run *run, const Inst *inst, const Block *block, uint32_t first_arg) {
    for (uint32_t i = first_arg; i < block->nargs; i++)
        move_slot(run, value_slot(run, &block->args[i]), &inst->carry[i - first_arg]);
}

static void carry_to_results(Run *run, const Inst *inst) {
    for (uint32_t i = 0; i < inst->op->nout; i++)
        move_slot(run, value_slot(run, &inst->op->out[i]), &inst->carry[i]);
}

static void clear_args(Run *run, const Block *block) {
    for (uint32_t i = 0; i < block->nargs; i++)
        slot_clear(run, value_slot(run, &block->args[i]));
}

static void set_int(Run *run, const Value *value, int64_t number) {
    memcpy(slot_new(run, value_slot(run, value), 1, 8), &number, sizeof number);
}

/* What decides how often a loop runs: nothing sensible can follow when it is undefined. */
static bool require_or_stop(Run *run, const Op *op, uint32_t index, const char *use) {
    if (require_defined(run, op, index, 0, use))
        return true;
    run->stopped = true;
    return false;
}

void interp_for(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Block *body = inst->regions[0].block;
    static const char *const names[] = {"the loop's first value", "the loop's end",
                                        "the loop's step"};
    int64_t bounds[FOR_FIXED_OPERANDS];
    for (uint32_t i = 0; i < FOR_FIXED_OPERANDS; i++) {
        if (!require_or_stop(run, op, i, names[i]))
            return;
        bounds[i] = slot_int(in_slot(run, op, i), op_in(op, i)->type, 0);
    }
    int64_t i = bounds[0], hi = bounds[1], step = bounds[2];
    if (step == 0) {
        finding(run, op, interp_zero_step, finding_place(run, NULL, 0));
        run->stopped = true;
        return;
    }
    for (uint32_t k = FOR_FIXED_OPERANDS; k < op->nin; k++)
        slot_share(run, &inst->carry[k - FOR_FIXED_OPERANDS], in_slot(run, op, k));
    while (step > 0 ? i < hi : i > hi) {
        set_int(run, &body->args[0], i);
        carry_to_args(run, inst, body, 1);
        const Inst *end = run_block(run, &inst->regions[0]);
        if (!end)
            return;
        carry_from(run, inst, end, 0);
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    clear_args(run, body);
    carry_to_results(run, inst);
}

void interp_while(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    for (uint32_t i = 0; i < op->nin; i++)
        slot_share(run, &inst->carry[i], in_slot(run, op, i));
    for (;;) {
        carry_to_args(run, inst, inst->regions[0].block, 0);
        const Inst *end = run_block(run, &inst->regions[0]);
        if (!end || !require_or_stop(run, end->op, 0, "the loop's condition"))
            return;
        bool go_on = in_slot(run, end->op, 0)->data[0];
        carry_from(run, inst, end, 1);
        if (!go_on)
            break;
        carry_to_args(run, inst, inst->regions[1].block, 0);
        end = run_block(run, &inst->regions[1]);
        if (!end)
            return;
        carry_from(run, inst, end, 0);
    }
    clear_args(run, inst->regions[0].block);
    clear_args(run, inst->regions[1].block);
    carry_to_results(run, inst);
}

void interp_if(Run *run, const Inst *inst) {
    /* After a report the else branch runs, so that the results exist. */
    bool defined = require_defined(run, inst->op, 0, 0, "the condition");
    bool taken = defined && in_slot(run, inst->op, 0)->data[0];
    if (run_halted(run))
        return;
    const Inst *end = run_block(run, &inst->regions[taken ? 0 : 1]);
    if (!end)
        return;
    carry_from(run, inst, end, 0);
    carry_to_results(run, inst);
}

/* The op that owns the region takes the operands. */
void interp_yield(Run *run, const Inst *inst) {}

void interp_condition(Run *run, const Inst *inst) {}

void interp_return(Run *run, const Inst *inst) {
    run->returned = true;
}

/* Programs */

static void set_argument(Run *run, const Value *param, const InterpArg *arg) {
    Slot *slot = value_slot(run, param);
    const Type *type = param->type;
    uint64_t bits;
    if (type_is_pointer(type))
        bits = arg->is_array && arg->array < run->narrays
                   ? array_pointer(run, arg->array, arg->byte_offset)
                   : (uint64_t)arg->i;
    else if (type_is_float(type))
        bits = float_to_bits(type->dtype, arg->f);
    else
        bits = type_is_bool(type) ? arg->i != 0 : (uint64_t)arg->i;
    /* The low bytes come first on every host this runs on. */
    memcpy(slot_new(run, slot, 1, 8), &bits, sizeof bits);
}

/* The launch's promises: the passes rely on them, so breaking one is an error even when the run
 * would go well. */
static bool check_promises(Run *run, const InterpArg *args) {
    for (uint32_t i = 0; i < run->func->body->nargs; i++) {
        const FuncParam *param = &run->func->params[i];
        bool pointer = type_is_pointer(run->func->body->args[i].type);
        bool in_array = pointer && args[i].is_array && args[i].array < run->narrays;
        uint64_t base = in_array ? run->arrays[args[i].array].address : 0;
        int64_t value =
            pointer && args[i].is_array ? (int64_t)base + args[i].byte_offset : args[i].i;
        if (param->divisible <= 1 || value % param->divisible == 0)
            continue;
        ctx_diag(run->ctx, param->span, interp_promise, STR_ARG(param->name),
                 base      ? "the address"
                 : pointer ? "byte offset"
                           : "value",
                 (long long)value, (long long)param->divisible);
        run->failed = true;
    }
    return !run->failed;
}

static void run_program(Run *run, const InstBlock *body, const InterpArg *args) {
    const Block *block = run->func->body;
    for (uint32_t i = 0; i < block->nargs; i++)
        set_argument(run, &block->args[i], &args[i]);
    run->returned = false;
    interp_async_reset(run);
    run_block(run, body);
    interp_tensor_end(run);
}

static void run_ctas(Run *run, const InstBlock *body, const InterpArg *args) {
    const uint32_t *grid = run->options->grid;
    run->ctas = run->options->ctas ? run->options->ctas : grid[0] * grid[1] * grid[2];
    for (run->pid[0] = 0; run->pid[0] < run->ctas && !run->stopped; run->pid[0]++)
        run_program(run, body, args);
}

static void run_grid(Run *run, const InstBlock *body, const InterpArg *args) {
    const uint32_t *grid = run->options->grid;
    for (uint32_t z = 0; z < grid[2]; z++)
        for (uint32_t y = 0; y < grid[1]; y++)
            for (uint32_t x = 0; x < grid[0] && !run->stopped; x++) {
                run->pid[0] = x;
                run->pid[1] = y;
                run->pid[2] = z;
                run_program(run, body, args);
            }
}

/* The run's memory is its own and released whole. While it lives, an allocation that fails
 * anywhere, diagnostics included, must pass through here to release it. */
typedef struct RunMemory {
    Arena arena;
    jmp_buf oom, *outer_oom;
} RunMemory;

static void run_function(Run *run, const InterpArg *args) {
    uint32_t nvalues = func_number(run->func);
    run->slots = ARENA_ARRAY(run->arena, Slot, nvalues);
    Compiler compiler = {run, ARENA_ARRAY(run->arena, bool, nvalues)};
    InstBlock body;
    compile_block(&compiler, run->func->body, &body);
    if (!check_promises(run, args))
        return;
    if (run->func->is_persistent)
        run_ctas(run, &body, args);
    else
        run_grid(run, &body, args);
}

static bool run_protected(Run *run, RunMemory *memory, const InterpArg *args) {
    if (setjmp(memory->oom))
        return false;
    memory->arena.oom = &memory->oom;
    run->ctx->arena.oom = &memory->oom;
    run_function(run, args);
    return true;
}

bool interp_run(Func *func, const InterpArg *args, InterpArray *arrays, uint32_t narrays,
                const InterpOptions *options) {
    Ctx *ctx = func_ctx(func);
    RunMemory memory = {.outer_oom = ctx->arena.oom, .arena.cancel = ctx->arena.cancel};
    Run run = {.ctx = ctx,
               .func = func,
               .arena = &memory.arena,
               .arrays = arrays,
               .narrays = narrays,
               .options = options,
               .width = 1};
    bool completed = run_protected(&run, &memory, args);
    ctx->arena.oom = memory.outer_oom;
    arena_free(&memory.arena);
    if (!completed)
        longjmp(*memory.outer_oom, 1);
    if (options->spent)
        *options->spent = (InterpSpent){run.steps, run.work};
    return !run.failed;
}
