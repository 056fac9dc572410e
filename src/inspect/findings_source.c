/* What advice names of the source: its own PTX, and the constexpr parameters that say a number. */
#include "inspect/findings.h"

typedef bool IsKind(const Op *op);

static bool is_asm(const Op *op) {
    return op->code == OP_effect_asm || op->code == OP_inline_asm;
}

static bool is_gather(const Op *op) {
    return op->code == OP_gather || op->code == OP_local_gather;
}

/* The first op of that kind and line. */
static const Op *op_of(const Finder *f, const Block *block, TracePlace at, IsKind *is_kind) {
    block_for_each (op, block) {
        const TracePlace own = trace_place(f->trace->ctx, op->span);
        if (is_kind(op) && own.file == at.file && own.line == at.line)
            return op;
        for (uint32_t r = 0; r < op->nregions; r++) {
            const Op *inner = op_of(f, op->regions[r], at, is_kind);
            if (inner)
                return inner;
        }
    }
    return NULL;
}

static bool has_op(const Finder *f, TracePlace at, IsKind *is_kind) {
    const Func *func = f->trace->compiled->func;
    return func && op_of(f, func->body, at, is_kind);
}

Str finding_constexpr_text(const Finder *f, const char *literal) {
    const KernelFacts *facts = &f->trace->compiled->facts;
    for (uint32_t i = 0; i < facts->param_count; i++)
        if (facts->params[i].is_constexpr && str_eq(facts->params[i].text, str_from(literal)))
            return facts->params[i].name;
    return (Str){0};
}

Str finding_constexpr(const Finder *f, int64_t value) {
    return finding_constexpr_text(f, str_format(f->arena, "%" PRId64, value));
}

/* Neighbouring lanes' places: bytes from one to the next, the same for all; 0: they differ. */
static int64_t stride_of(const SimSharedAccess *access) {
    int64_t stride = 0;
    for (int lane = 0; lane + 1 < TARGET_WARP_SIZE; lane++) {
        const int64_t next = (int64_t)access->addresses[lane + 1] - access->addresses[lane];
        if (!(access->mask >> lane & 1) || !(access->mask >> (lane + 1) & 1) || next <= 0 ||
            (stride && next != stride))
            return 0;
        stride = next;
    }
    return stride;
}

/* The parameter that says the stride, in bytes or in elements, and what it would have to be. */
static const char *stride_text(const Finder *f, int64_t stride, int64_t size) {
    const int64_t by[] = {1, size};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        const Str name = finding_constexpr(f, stride / by[i]);
        if (name.len)
            return str_format(f->arena, "-D %.*s=%" PRId64 " instead of %" PRId64, STR_ARG(name),
                              (stride + size) / by[i], stride / by[i]);
    }
    return "one element more than now";
}

/* What conflicts are, whoever chose the places. */
#define WHAT_CONFLICTS_ARE                                                                         \
    "Threads of a warp access different words of one bank of shared memory at once. A bank "       \
    "serves one word at a time, so that the others wait for their turn. "

static const char *own_places_advice(const Finder *f, const Finding *found) {
    const SimSharedAccess *access = NULL;
    vec_for_each (ptx, &f->profile->ptx)
        if (ptx->ptx_line == found->ptx_line)
            access = ptx->shared;
    const int64_t stride = access ? stride_of(access) : 0;
    if (!stride || (stride / access->size) % 2)
        return str_format(f->arena,
                          "The PTX of the source at line %u says where its threads read and write: "
                          "let threads of a warp have their places in different banks.",
                          found->at.line);
    return str_format(f->arena,
                      "The PTX of the source at line %u has the places of neighbouring threads "
                      "%" PRId64 " bytes apart. At %" PRId64
                      " bytes, an odd number of elements, each has banks of its own: %s.",
                      found->at.line, stride, stride + access->size,
                      stride_text(f, stride, access->size));
}

void finding_own_banks(const Finder *f, Finding *found) {
    if (has_op(f, found->at, is_gather)) {
        found->why = WHAT_CONFLICTS_ARE "Which bank a thread accesses follows from its index.";
        found->remedy =
            "The indices choose the banks: threads of a warp whose indices differ by multiples of "
            "32 words meet in one. Have neighbouring threads gather neighbours where that can be.";
    } else if (has_op(f, found->at, is_asm)) {
        found->why = WHAT_CONFLICTS_ARE "The addresses are those of the source's own PTX.";
        found->remedy = own_places_advice(f, found);
    }
}
