/* What became of a dot, said at its source line: the instruction, how warps share the tile, and how
 * each operand reaches the registers it is multiplied from. */
#include "codegen/products/dot_remark.h"
#include "codegen/memory/shared_pointer.h"
#include "codegen/products/wgmma_product.h"
#include "codegen/values/cache.h"
#include "target/mma.h"
#include "target/panels.h"
#include "target/wgmma.h"

/* The op that fills a buffer; NULL: none. */
static const Op *filler_of(const Value *buffer) {
    const Op *found = NULL;
    value_for_each_use (use, buffer) {
        const Op *user = use->user;
        if (user->code == OP_local_view)
            user = filler_of(&user->out[0]);
        if (user && op_fills_buffer(user))
            found = user;
    }
    return found;
}

static bool is_by_producer(const Op *copy) {
    const Op *producer = func_producer(copy->block->func);
    return producer && op_ancestor_in((Op *)copy, producer->block) == producer;
}

/* The box of the copies, as the block's dimensions are. */
static void say_box(Cg *cg, StrBuf *text, const Op *copy) {
    const Type *block = block_access(copy).tile;
    Panels panels;
    Boxes boxes;
    int64_t sides[MAX_RANK] = {0};
    if (!layout_find_panels(cg->ctx, block, block->layout, &panels) ||
        !boxes_of(block, panels, &boxes))
        return;
    for (int i = 0; i < boxes.rank; i++)
        sides[boxes.dims[i]] = boxes.sides[i];
    int first = 0;
    while (first + 2 < boxes.rank && sides[first] == 1)
        first++;
    for (int d = first; d < boxes.rank; d++)
        strbuf_printf(text, "%s%lld", d > first ? " x " : "", (long long)sides[d]);
}

static void say_filler(Cg *cg, StrBuf *text, const Value *buffer) {
    int bytes = type_element_bytes(buffer->type);
    const Op *alloc = local_alloc_of(buffer);
    const Op *filler = filler_of(&alloc->out[0]);
    int64_t copies = local_copies(&alloc->out[0]);
    strbuf_puts(text, " from shared memory");
    if (filler && filler->code == OP_async_copy) {
        strbuf_printf(text, ", filled by cp.async of %lld bytes in %lld stages",
                      (long long)bytes * op_access_width(filler), (long long)copies);
    } else if (filler && filler->code == OP_copy_block) {
        strbuf_puts(text, ", filled by tensor copies of ");
        say_box(cg, text, filler);
        if (copies > 1)
            strbuf_printf(text, " in %lld stages", (long long)copies);
        if (is_by_producer(filler))
            strbuf_puts(text, " by a producer warp");
    } else if (copies > 1) {
        strbuf_printf(text, ", filled through registers one iteration ahead");
    } else {
        strbuf_puts(text, ", filled through registers");
    }
}

static void say_load(Cg *cg, StrBuf *text, const Op *load) {
    const Type *type = load->out[0].type, *buffer = op_in(load, 0)->type;
    int bytes = type_element_bytes(type);
    LoadedPart part = cg_loaded_part(cg, load);
    LayoutMatrices matrices;
    if (layout_matrices(cg->ctx, part.layout, buffer->layout, bytes, &matrices))
        strbuf_printf(text, "ldmatrix.x%d%s", 1 << matrices.matrix_bits,
                      matrices.transposed ? ".trans" : "");
    else
        strbuf_printf(text, "loads of %d bytes",
                      bytes * layout_shared_vector(cg->ctx, part.layout, buffer->layout, bytes));
    say_filler(cg, text, op_in(load, 0));
}

/* Past what only renames or rounds registers. */
static const Op *source_of(const Value *value) {
    const Op *op = value->def;
    while (op && op->nin == 1 && !op->nregions && op_has(op, ELEMENTWISE | MOVES) &&
           op->code != OP_convert_layout)
        op = op_in(op, 0)->def;
    return op;
}

static void say_operand(Cg *cg, StrBuf *text, const Op *dot, uint32_t index) {
    const Op *source = source_of(op_in(dot, index));
    strbuf_printf(text, "; %c: ", "ab"[index]);
    if (source && source->code == OP_local_load)
        say_load(cg, text, source);
    else
        strbuf_puts(text, "in registers already");
}

/* Rows and columns of warps, 1 where warps repeat each other. */
static void say_warps(StrBuf *text, const Type *acc) {
    uint32_t rows = layout_dim_mask(acc->rank, acc->shape, acc->rank - 2);
    uint32_t columns = layout_dim_mask(acc->rank, acc->shape, acc->rank - 1);
    const uint32_t *warps = layout_bases(acc->layout, LAYOUT_WARP);
    int m = 1, n = 1, batch = 1, idle = 1;
    for (int i = 0; i < acc->layout->bits[LAYOUT_WARP]; i++)
        *(warps[i] & rows ? &m : warps[i] & columns ? &n : warps[i] ? &batch : &idle) *= 2;
    strbuf_printf(text, ", warps %d x %d", m, n);
    if (batch > 1)
        strbuf_printf(text, " of %d batches", batch);
    if (idle > 1)
        strbuf_printf(text, ", each %d times over", idle);
}

typedef struct Remark {
    Str text;
    Span at;
} Remark;

static const CacheKind latest_remark_kind = {sizeof(Remark)};

/* Products of one source line that are made alike are said once. */
static void say_once(Cg *cg, const Op *op, Str said) {
    Remark *latest = cg_cache(cg, &latest_remark_kind);
    if (str_eq(latest->text, said) && latest->at.file == op->span.file &&
        latest->at.lo == op->span.lo)
        return;
    *latest = (Remark){said, op->span};
    ctx_diag(cg->ctx, op->span, dot_on_tensor_cores, STR_ARG(said));
}

void cg_dot_remark(Cg *cg, const Op *op, const Mma *mma) {
    StrBuf text = strbuf(cg->arena);
    strbuf_printf(&text, "mma.%s", mma->name);
    say_warps(&text, op->out[0].type);
    say_operand(cg, &text, op, 0);
    say_operand(cg, &text, op, 1);
    say_once(cg, op, strbuf_str(&text));
}

/* By choose-dots, which makes the source's operand b operand a. */
static bool is_turned(const Op *op) {
    value_for_each_use (use, &op->out[0])
        if (use->user->code == OP_transpose)
            return true;
    return false;
}

static void say_wgmma_operand(Cg *cg, StrBuf *text, const Op *op, uint32_t index) {
    Panels lies;
    if (!cg_wgmma_operand(cg, op, index, &lies)) {
        say_operand(cg, text, op, index);
        return;
    }
    int k = (index == 0) ^ (int)(op_transposed(op) >> (index > 0) & 1);
    strbuf_printf(text, "; %c: %s, %d-byte swizzle,", index ? 'b' : 'a',
                  lies.line == k ? "K-major"
                  : index == 0   ? "M-major"
                                 : "N-major",
                  lies.span);
    say_filler(cg, text, op_in(op, index));
}

/* The instructions of several products of one operand a. */
static void say_joint(Cg *cg, StrBuf *text, const Op *op) {
    if (wgmma_joint_attrs(op)->adjacent) {
        strbuf_puts(text, " for this one and those beside it");
        return;
    }
    for (uint32_t i = 1; i < wgmma_products(op); i++)
        strbuf_printf(text, " and %s", cg_wgmma_name(cg, op, i));
    strbuf_puts(text, " started together");
}

void cg_wgmma_remark(Cg *cg, const Op *op) {
    StrBuf text = strbuf(cg->arena);
    strbuf_puts(&text, cg_wgmma_name(cg, op, 0));
    if (op->code == OP_wgmma_joint)
        say_joint(cg, &text, op);
    say_warps(&text, op->out[0].type);
    if (is_turned(op))
        strbuf_puts(&text, ", of the transposed product b^T a^T");
    for (uint32_t i = 0; i <= wgmma_products(op); i++)
        say_wgmma_operand(cg, &text, op, i);
    if (op_in_flight(op))
        strbuf_puts(&text, "; in flight while the next iteration begins");
    say_once(cg, op, strbuf_str(&text));
}
