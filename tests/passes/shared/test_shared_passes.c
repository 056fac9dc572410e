/* allocate-shared and place-barriers on random programs, judged by following every path.
 *
 * A path takes each branch one way and goes around each loop at most twice. On every path a load
 * must find the bytes that its buffer's last store left there, and between two accesses that
 * conflict there must be a barrier; those of one buffer do not if no element is in two threads'
 * hands, which is found out by enumerating them. No barrier is superfluous: without it some path
 * has a conflict.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/passes.h"
#include "passes/rewrite.h"

typedef struct Rng {
    uint64_t state;
} Rng;

static uint32_t below(Rng *rng, uint32_t n) {
    rng->state = rng->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(rng->state >> 33) % n;
}

/* Random programs */

enum { MAX_BUFFERS = 6, MAX_TILES = 3 };

typedef struct Program {
    Ctx *ctx;
    Func *func;
    Rng rng;
    int64_t numel; /* of each buffer */
    Value *buffers[MAX_BUFFERS], *tiles[MAX_TILES], *condition, *zero, *one, *count;
    uint32_t nbuffers;
    bool barriers; /* some are there already */
} Program;

static const Type *element_type(Ctx *ctx, TypeKind kind, int64_t numel, Layout layout) {
    layout.out_bits = (uint8_t)__builtin_ctzll((uint64_t)numel);
    return type_get(ctx, kind, DT_F32, 1, &numel, layout_get(ctx, &layout));
}

static const Type *buffer_type(Ctx *ctx, int64_t numel) {
    Layout layout = {.bits = {(uint8_t)__builtin_ctzll((uint64_t)numel)}};
    for (int i = 0; i < layout.bits[LAYOUT_REG]; i++)
        layout.basis[i] = 1u << i;
    return element_type(ctx, TYPE_BUFFER, numel, layout);
}

/* Tiles whose elements lie apart in registers, lanes and warps; in lanes, warps and registers; and
 * one that both warps hold. */
static const Type *tile_type(Ctx *ctx, int64_t numel, int which) {
    int bits = __builtin_ctzll((uint64_t)numel), registers = bits - (which == 2 ? 5 : 6);
    Layout layout = {.bits = {(uint8_t)registers, 5, 1}};
    for (int i = 0; i < registers + 6; i++) {
        int index = which != 1 ? i : i < registers ? i + 6 : (i - registers + 1) % 6;
        layout.basis[i] = index < bits ? 1u << index : 0;
    }
    return element_type(ctx, TYPE_NUMBER, numel, layout);
}

static Value *some_tile(Program *program) {
    return program->tiles[below(&program->rng, MAX_TILES)];
}

/* The buffer is stored before it is loaded, so that every load is of something. */
static void use_buffer(Program *program, Builder *builder) {
    if (program->nbuffers < MAX_BUFFERS && below(&program->rng, 3) == 0) {
        Value *buffer =
            build_local_alloc(builder, -1, 0, 0, buffer_type(program->ctx, program->numel));
        build_local_store(builder, some_tile(program), buffer, 0);
        program->buffers[program->nbuffers++] = buffer;
        return;
    }
    if (program->nbuffers == 0)
        return;
    Value *buffer = program->buffers[below(&program->rng, program->nbuffers)];
    if (below(&program->rng, 3))
        build_local_load(builder, buffer, NULL, 0, some_tile(program)->type);
    else
        build_local_store(builder, some_tile(program), buffer, 0);
}

static void fill(Program *program, Block *block, int depth) {
    Builder builder = builder_at_end(block);
    uint32_t visible = program->nbuffers;
    for (uint32_t n = 1 + below(&program->rng, depth ? 5 : 9); n > 0; n--) {
        uint32_t kind = below(&program->rng, 12);
        if (kind == 0 && depth < 3) {
            Op *op = build_if(&builder, program->condition, 0, NULL);
            for (int i = 0; i < 2; i++) {
                fill(program, op->regions[i], depth + 1);
                Builder end = builder_at_end(op->regions[i]);
                build_yield(&end, 0, NULL);
            }
        } else if (kind == 1 && depth < 3) {
            Op *op = build_for(&builder, program->zero, program->count, program->one, 0, NULL);
            fill(program, op->regions[0], depth + 1);
            Builder end = builder_at_end(op->regions[0]);
            build_yield(&end, 0, NULL);
        } else if (kind == 2 && depth < 3) {
            Op *op = build_while(&builder, 0, NULL);
            for (int i = 0; i < 2; i++) {
                fill(program, op->regions[i], depth + 1);
                Builder end = builder_at_end(op->regions[i]);
                if (i == 0)
                    build_condition(&end, 1, &program->condition);
                else
                    build_yield(&end, 0, NULL);
            }
        } else if (kind == 3 && program->barriers) {
            build_barrier(&builder, false, false);
        } else {
            use_buffer(program, &builder);
        }
    }
    program->nbuffers = visible; /* what was made here is not seen outside */
}

static Program random_program(Ctx *ctx, uint64_t seed, int64_t numel) {
    Program program = {.ctx = ctx, .rng = {seed}, .numel = numel, .barriers = seed % 3 == 0};
    Module *module = module_create(ctx);
    const FuncParam params[] = {{.name = STR("c")}, {.name = STR("n")}};
    const Type *types[] = {type_scalar(ctx, DT_I1), type_scalar(ctx, DT_I32)};
    program.func = func_create(module, STR("f"), 2, params, types);
    program.func->num_warps = 2;
    program.func->capability = 90;
    program.func->has_layouts = true;
    program.condition = &program.func->body->args[0];
    Builder builder = builder_at_end(program.func->body);
    program.zero = build_constant_int(&builder, 0, types[1]);
    program.one = build_constant_int(&builder, 1, types[1]);
    program.count = build_constant_int(&builder, 2, types[1]);
    for (int i = 0; i < MAX_TILES; i++)
        program.tiles[i] = build_constant_float(&builder, 0, tile_type(ctx, numel, i));
    fill(&program, program.func->body, 0);
    builder = builder_at_end(program.func->body);
    build_return(&builder);
    return program;
}

/* Paths */

enum { MAX_PATH = 4000, MAX_CHOICES = 60 };

typedef struct Path {
    const Op *ops[MAX_PATH];
    int length;
    uint64_t choices; /* taken from the low end */
    int used;
} Path;

static uint32_t choose(Path *path, uint32_t bits) {
    if (path->used + (int)bits > MAX_CHOICES)
        return 0;
    uint32_t choice = (uint32_t)(path->choices >> path->used) & ((1u << bits) - 1);
    path->used += (int)bits;
    return choice;
}

static void follow(Path *path, const Block *block) {
    block_for_each (op, block) {
        if (path->length == MAX_PATH)
            return;
        path->ops[path->length++] = op;
        if (op->code == OP_if) {
            follow(path, op->regions[choose(path, 1)]);
        } else if (op->code == OP_for || op->code == OP_while) {
            uint32_t times = choose(path, 2) % 3;
            for (uint32_t i = 0; i < times; i++)
                for (uint32_t r = 0; r < op->nregions; r++)
                    follow(path, op->regions[r]);
            if (op->code == OP_while)
                follow(path, op->regions[0]);
        }
    }
}

static const Op *buffer_of(const Op *op) {
    if (op->code != OP_local_store && op->code != OP_local_load)
        return NULL;
    return op_in(op, op->code == OP_local_store ? 1 : 0)->def;
}

static bool share_bytes(const Op *a, const Op *b, int64_t bytes) {
    int64_t x = op_offset(a), y = op_offset(b);
    return x < y + bytes && y < x + bytes;
}

static const Layout *layout_of(const Op *op) {
    return (op->code == OP_local_store ? op_in(op, 0) : op_out(op))->type->layout;
}

/* An element is in different threads' hands in the two layouts, or in one of them. */
static bool changes_hands(const Layout *a, const Layout *b) {
    int8_t holder[4096];
    memset(holder, -1, sizeof holder);
    const Layout *both[] = {a, b};
    for (int i = 0; i < 2; i++)
        for (uint32_t thread = 0; thread < 64; thread++)
            for (uint32_t reg = 0; reg < 1u << both[i]->bits[LAYOUT_REG]; reg++) {
                int8_t *held = &holder[layout_apply(both[i], reg, thread % 32, thread / 32, 0)];
                if (*held >= 0 && *held != (int8_t)thread)
                    return true;
                *held = (int8_t)thread;
            }
    return false;
}

/* The same for every pair of the program's tiles. */
typedef struct Hands {
    const Layout *layouts[MAX_TILES];
    bool change[MAX_TILES][MAX_TILES];
} Hands;

static Hands all_hands(const Program *program) {
    Hands hands;
    for (int i = 0; i < MAX_TILES; i++) {
        hands.layouts[i] = program->tiles[i]->type->layout;
        for (int j = 0; j <= i; j++)
            hands.change[i][j] = hands.change[j][i] =
                changes_hands(hands.layouts[i], hands.layouts[j]);
    }
    return hands;
}

static bool hands_change(const Hands *hands, const Layout *a, const Layout *b) {
    int i = 0, j = 0;
    while (hands->layouts[i] != a)
        i++;
    while (hands->layouts[j] != b)
        j++;
    return hands->change[i][j];
}

/* Two accesses that conflict with no barrier but `ignored` between them. */
static bool races(const Path *path, const Hands *hands, int64_t bytes, const Op *ignored) {
    for (int i = 0; i < path->length; i++) {
        const Op *first = buffer_of(path->ops[i]);
        for (int j = i + 1; first && j < path->length; j++) {
            if (path->ops[j]->code == OP_barrier && path->ops[j] != ignored)
                break;
            const Op *second = buffer_of(path->ops[j]);
            bool writes =
                path->ops[i]->code == OP_local_store || path->ops[j]->code == OP_local_store;
            if (second && writes && share_bytes(first, second, bytes) &&
                (first != second ||
                 hands_change(hands, layout_of(path->ops[i]), layout_of(path->ops[j]))))
                return true;
        }
    }
    return false;
}

/* Each load reads what was last stored to its buffer. */
static bool keeps_contents(const Path *path, int64_t bytes) {
    for (int i = 0; i < path->length; i++) {
        const Op *buffer = path->ops[i]->code == OP_local_load ? buffer_of(path->ops[i]) : NULL;
        for (int j = i - 1; buffer && j >= 0; j--) {
            if (path->ops[j]->code != OP_local_store)
                continue;
            const Op *stored = buffer_of(path->ops[j]);
            if (stored == buffer)
                break;
            if (share_bytes(stored, buffer, bytes))
                return false;
        }
    }
    return true;
}

enum { PATHS = 3000 };

typedef struct Barriers {
    const Op *ops[64];
    int count;
} Barriers;

static bool collect_barrier(Op *op, void *user) {
    Barriers *barriers = user;
    if (op->code == OP_barrier && barriers->count < 64)
        barriers->ops[barriers->count++] = op;
    return true;
}

static void check_program(uint64_t seed, int64_t numel) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL;
    Program program = random_program(ctx, seed, numel);
    Barriers given = {0}, all = {0};
    func_walk(program.func, collect_barrier, &given);
    static const PassId passes[] = {PASS_allocate_shared, PASS_place_barriers};
    assert_true(pipeline_run_passes(program.func, passes, 2, &(PipelineOptions){0}));
    assert_true(module_verify(program.func->module));
    func_walk(program.func, collect_barrier, &all);
    int64_t bytes = numel * 4;
    Hands hands = all_hands(&program);
    bool needed[64] = {false};
    for (uint32_t n = 0; n < PATHS; n++) {
        static Path path;
        path.length = path.used = 0;
        path.choices =
            n < 64 ? n
                   : (uint64_t)below(&program.rng, 1u << 30) << 30 | below(&program.rng, 1u << 30);
        follow(&path, program.func->body);
        assert_true(keeps_contents(&path, bytes));
        assert_false(races(&path, &hands, bytes, NULL));
        for (int i = 0; i < all.count; i++)
            needed[i] |= !needed[i] && races(&path, &hands, bytes, all.ops[i]);
    }
    for (int i = 0; i < all.count; i++) {
        bool inserted = true;
        for (int j = 0; j < given.count; j++)
            inserted &= given.ops[j] != all.ops[i];
        if (inserted && !needed[i])
            fail_msg("seed %llu: a barrier orders nothing", (unsigned long long)seed);
    }
    ctx_destroy(ctx);
}

/* Small buffers are kept apart, large ones share bytes. */
static void test_small_buffers(void **state) {
    for (uint64_t seed = 0; seed < 300; seed += TILEC_TEST_PART)
        check_program(seed, 64);
}

static void test_large_buffers(void **state) {
    for (uint64_t seed = 0; seed < 300; seed += TILEC_TEST_PART)
        check_program(seed, 4096);
}

static Value *buffer_of_size(Builder *builder, int64_t numel) {
    return build_local_alloc(builder, -1, 0, 0, buffer_type(builder->ctx, numel));
}

/* Buffers that never live at once share bytes when there are too many for all. */
static void test_reuse(void **state) {
    Ctx *ctx = ctx_create();
    Program program = random_program(ctx, 1, 64);
    Op *end = program.func->body->last;
    while (end->prev && end->prev->code != OP_constant_float)
        op_remove(end->prev);
    Builder builder = builder_before(end);
    Value *tile = build_constant_float(&builder, 0, tile_type(ctx, 1 << 14, 0));
    Value *buffers[4];
    for (int i = 0; i < 4; i++) {
        buffers[i] = buffer_of_size(&builder, 1 << 14);
        build_local_store(&builder, tile, buffers[i], 0);
        build_local_load(&builder, buffers[i], NULL, 0, tile->type);
    }
    assert_true(pass_allocate_shared(program.func));
    for (int i = 0; i < 4; i++)
        assert_int_equal(local_alloc_attrs(buffers[i]->def)->offset, 0);
    assert_int_equal(program.func->shared_bytes, 4 << 14);
    assert_false(pass_allocate_shared(program.func));
    ctx_destroy(ctx);
}

/* Too much is an error that names what there is and what is wanted. */
static void test_limit(void **state) {
    Ctx *ctx = ctx_create();
    Program program = random_program(ctx, 1, 64);
    Builder builder = builder_before(program.func->body->last);
    Value *tile = build_constant_float(&builder, 0, tile_type(ctx, 1 << 16, 0));
    Value *buffer = buffer_of_size(&builder, 1 << 16);
    build_local_store(&builder, tile, buffer, 0);
    assert_false(pass_allocate_shared(program.func));
    assert_int_equal(ctx->diags.errors, 1);
    assert_int_equal(ctx->diags.first->id, DIAG_shared_exceeded);
    assert_non_null(strstr(ctx->diags.first->text, "232448"));
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_buffers),
        cmocka_unit_test(test_large_buffers),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
