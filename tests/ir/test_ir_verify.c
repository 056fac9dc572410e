/* The verifier finds planted damage: each case starts from IR that verifies, breaks one thing and
 * expects one diagnostic. */
#include "ir_testing.h"

static const char good[] = "func @f(%p: ptr<f32>, %n: i32, %x: f32, %c: i1) {\n"
                           "    %one = constant_int {value = 1} : i32\n"
                           "    %sum = addi %n, %one : i32\n"
                           "    %t = splat %x : tile<64xf32>\n"
                           "    %r = reduce %t {axis = 0} : f32 (%a: f32, %b: f32) {\n"
                           "        %m = maxf %a, %b : f32\n"
                           "        yield %m\n"
                           "    }\n"
                           "    %l = for %n, %sum, %one, %r : f32 (%i: i32, %acc: f32) {\n"
                           "        %next = addf %acc, %x : f32\n"
                           "        yield %next\n"
                           "    }\n"
                           "    if %c {\n"
                           "        store %p, %l\n"
                           "        yield\n"
                           "    } {\n"
                           "        yield\n"
                           "    }\n"
                           "    return\n"
                           "}\n";

/* The first op with this code in the function or its regions. */
typedef struct Search {
    OpCode code;
    Op *found;
} Search;

static bool match(Op *op, void *user) {
    Search *search = user;
    if (op->code != search->code)
        return true;
    search->found = op;
    return false;
}

static Op *find(Module *module, OpCode code) {
    Search search = {.code = code};
    func_walk(module->funcs, match, &search);
    assert_non_null(search.found);
    return search.found;
}

static void drop_use(Module *m) {
    find(m, OP_addi)->in[0].value->uses = NULL;
}

static void use_of_removed_op(Module *m) {
    /* Unlinked from its block by hand, its uses stay in the lists. */
    Op *op = find(m, OP_maxf);
    op_set_operand(op->next, 0, &op->block->args[0]);
    op->prev = NULL;
    op->block->first = op->next;
    op->next->prev = NULL;
}

static void use_says_other_value(Module *m) {
    find(m, OP_addi)->in[0].value = find(m, OP_addi)->in[1].value;
}

static void use_before_definition(Module *m) {
    op_move_before(find(m, OP_constant_int), find(m, OP_return));
}

static void use_out_of_region(Module *m) {
    op_set_operand(find(m, OP_store), 1, op_out(find(m, OP_addf)));
}

static void use_own_result(Module *m) {
    Op *op = find(m, OP_addf);
    op_set_operand(op, 0, op_out(op));
}

static void use_in_own_region(Module *m) {
    op_set_operand(find(m, OP_addf), 1, op_out(find(m, OP_for)));
}

static void stale_result_type(Module *m) {
    op_out(find(m, OP_maxf))->type = type_scalar(m->ctx, DT_F64);
}

static void stale_operand_type(Module *m) {
    m->funcs->body->args[2].type = type_scalar(m->ctx, DT_F64);
}

static void no_type(Module *m) {
    op_out(find(m, OP_addi))->type = NULL;
}

static void no_terminator(Module *m) {
    op_remove(find(m, OP_return));
}

static void empty_region(Module *m) {
    op_remove(find(m, OP_if)->regions[1]->last);
}

static void terminator_in_the_middle(Module *m) {
    Builder b = builder_before(find(m, OP_addi));
    build_return(&b);
}

static void return_in_region(Module *m) {
    Op *yield = find(m, OP_if)->regions[1]->last;
    Builder b = builder_before(yield);
    build_return(&b);
    op_remove(yield);
}

static void wrong_block(Module *m) {
    find(m, OP_addf)->block = m->funcs->body;
}

static void wrong_neighbour(Module *m) {
    find(m, OP_addi)->prev = NULL;
}

static void wrong_last(Module *m) {
    m->funcs->body->last = find(m, OP_if);
}

static void wrong_parent(Module *m) {
    find(m, OP_for)->regions[0]->parent = find(m, OP_if);
}

static void missing_region(Module *m) {
    find(m, OP_if)->regions[1] = NULL;
}

static void wrong_region_count(Module *m) {
    find(m, OP_if)->nregions = 1;
}

static void absent_operand(Module *m) {
    find(m, OP_addi)->in[1].value = NULL;
}

static void deep_nesting(Module *m) {
    Builder b = builder_before(find(m, OP_return));
    for (int i = 0; i < 300; i++) {
        Op *op = build_if(&b, &m->funcs->body->args[3], 0, NULL);
        b = builder_at_end(op->regions[0]);
    }
}

static void layout_of_other_size(Module *m) {
    m->funcs->has_layouts = true;
    m->funcs->num_warps = 1;
    Value *tile = op_out(find(m, OP_splat));
    tile->type = type_with_layout(m->ctx, tile->type, layout_replicated(m->ctx, 5, 0));
}

static void buffer_without_layouts(Module *m) {
    Builder b = builder_before(find(m, OP_return));
    const Type *tile = op_out(find(m, OP_splat))->type;
    build_local_alloc(&b, -1, 0, 0, type_with_element(m->ctx, tile, TYPE_BUFFER, DT_F32));
}

static void wrong_index(Module *m) {
    op_out(find(m, OP_addi))->index = 1;
}

static void unknown_code(Module *m) {
    find(m, OP_addi)->code = OP_COUNT;
}

static void bad_enum(Module *m) {
    store_attrs(find(m, OP_store))->cache = CACHE_COUNT;
}

static void unwrapped_constant(Module *m) {
    constant_int_attrs(find(m, OP_constant_int))->value = INT64_C(1) << 40;
}

static void missing_operand(Module *m) {
    op_remove_operand(find(m, OP_addi), 1);
}

static void extra_result(Module *m) {
    op_add_result(find(m, OP_addi), type_scalar(m->ctx, DT_I32));
}

static void extra_region_argument(Module *m) {
    block_add_arg(find(m, OP_for)->regions[0], type_scalar(m->ctx, DT_I32));
}

static void yield_too_little(Module *m) {
    op_remove_operand(find(m, OP_for)->regions[0]->last, 0);
}

static void bad_warps(Module *m) {
    m->funcs->num_warps = 3;
}

static void bad_stages(Module *m) {
    m->funcs->num_stages = -1;
}

static void plain_with_tensor_copies(Module *m) {
    m->funcs->plain_abi = true;
    m->funcs->no_persistence = true;
}

static void plain_with_shared_ctas(Module *m) {
    func_plain_abi(m->funcs);
    m->funcs->programs_per_cta = 2;
}

/* %n is no pointer. */
static void apart_from_a_number(Module *m) {
    static const int64_t pair[] = {0, 1};
    m->funcs->apart = (Ints){pair, 2};
}

static void apart_from_nothing(Module *m) {
    static const int64_t pair[] = {0, 9};
    m->funcs->apart = (Ints){pair, 2};
}

static void apart_by_half(Module *m) {
    static const int64_t pair[] = {0};
    m->funcs->apart = (Ints){pair, 1};
}

static void apart_in_place(Module *m) {
    static const int64_t pair[] = {0, 0};
    m->funcs->apart = (Ints){pair, 2};
    m->funcs->in_place = true;
}

static void layouts_without_warps(Module *m) {
    m->funcs->has_layouts = true;
}

static void layouts_missing(Module *m) {
    m->funcs->has_layouts = true;
    m->funcs->num_warps = 1;
}

static void equal_names(Module *m) {
    Func *twin = func_create(m, m->funcs->name, 0, NULL, NULL);
    Builder b = builder_at_end(twin->body);
    build_return(&b);
}

static void effect_in_combiner(Module *m) {
    Builder b = builder_before(find(m, OP_maxf));
    build_store(&b, &m->funcs->body->args[0], &m->funcs->body->args[2], NULL, CACHE_NONE,
                EVICT_NORMAL, 0);
}

static void tile_in_combiner(Module *m) {
    Builder b = builder_before(find(m, OP_maxf));
    build_splat(&b, &m->funcs->body->args[2], op_in(find(m, OP_reduce), 0)->type);
}

static void tile_parameter(Module *m) {
    block_add_arg(m->funcs->body, op_in(find(m, OP_reduce), 0)->type);
    FuncParam *params = ARENA_ARRAY(&m->ctx->arena, FuncParam, 5);
    memcpy(params, m->funcs->params, 4 * sizeof *params);
    m->funcs->params = params;
}

typedef struct Damage {
    const char *name;
    void (*plant)(Module *module);
    DiagId id;
} Damage;

#define DAMAGE(function, id)                                                                       \
    { #function, function, DIAG_##id }

static const Damage damages[] = {
    DAMAGE(drop_use, ir_use_list),
    DAMAGE(use_of_removed_op, ir_use_list),
    DAMAGE(use_says_other_value, ir_use_list),
    DAMAGE(use_before_definition, ir_dominance),
    DAMAGE(use_out_of_region, ir_dominance),
    DAMAGE(use_own_result, ir_dominance),
    DAMAGE(use_in_own_region, ir_dominance),
    DAMAGE(stale_result_type, ir_stale_type),
    DAMAGE(stale_operand_type, ir_result_from),
    DAMAGE(no_type, ir_links),
    DAMAGE(no_terminator, ir_terminator),
    DAMAGE(empty_region, ir_terminator),
    DAMAGE(terminator_in_the_middle, ir_terminator),
    DAMAGE(return_in_region, ir_place),
    DAMAGE(wrong_block, ir_links),
    DAMAGE(wrong_neighbour, ir_links),
    DAMAGE(wrong_last, ir_links),
    DAMAGE(wrong_parent, ir_links),
    DAMAGE(missing_region, ir_links),
    DAMAGE(wrong_region_count, ir_links),
    DAMAGE(absent_operand, ir_links),
    DAMAGE(deep_nesting, ir_nesting),
    DAMAGE(layout_of_other_size, ir_layout_map),
    DAMAGE(buffer_without_layouts, ir_layout_map),
    DAMAGE(wrong_index, ir_links),
    DAMAGE(unknown_code, ir_links),
    DAMAGE(bad_enum, ir_attr_value),
    DAMAGE(unwrapped_constant, ir_attr_value),
    DAMAGE(missing_operand, ir_operand_count),
    DAMAGE(extra_result, ir_result_count),
    DAMAGE(extra_region_argument, ir_region_args),
    DAMAGE(yield_too_little, ir_passed_on),
    DAMAGE(bad_warps, ir_func_attr),
    DAMAGE(bad_stages, ir_func_attr),
    DAMAGE(plain_with_tensor_copies, ir_func_attr),
    DAMAGE(plain_with_shared_ctas, ir_func_attr),
    DAMAGE(apart_from_a_number, ir_func_attr),
    DAMAGE(apart_from_nothing, ir_func_attr),
    DAMAGE(apart_by_half, ir_func_attr),
    DAMAGE(apart_in_place, ir_func_attr),
    DAMAGE(layouts_without_warps, ir_func_attr),
    DAMAGE(layouts_missing, ir_layout_map),
    DAMAGE(equal_names, ir_redefined),
    DAMAGE(effect_in_combiner, ir_combiner),
    DAMAGE(tile_in_combiner, ir_combiner),
    DAMAGE(tile_parameter, ir_param),
};

static void test_damage_is_found(void **state) {
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        Ctx *ctx = testing_ctx();
        Module *module = testing_parse_good(ctx, good);
        damages[i].plant(module);
        bool ok = module_verify(module);
        if (ok || !ctx->diags.first || ctx->diags.first->id != damages[i].id)
            fail_msg("%s: wanted %s, found:\n%s", damages[i].name, diag_name(damages[i].id),
                     testing_messages(ctx));
        ctx_destroy(ctx);
    }
}

/* Verifying changes nothing and may be repeated. */
static void test_good_stays_good(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, good);
    const char *before = testing_print(module);
    for (int i = 0; i < 3; i++)
        assert_true(module_verify(module));
    assert_string_equal(testing_print(module), before);
    ctx_destroy(ctx);
}

/* Layouts against the function: `%s` is put where the first tile's layout goes. */
static void test_layouts_fit_the_function(void **state) {
    static const struct {
        const char *layout;
        bool ok;
    } cases[] = {
        {"{reg = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128]}", true},
        {"{reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 0]}", true},
        {"{reg = [1], lane = [2, 4, 8, 16], warp = [32, 64], block = [128]}", false},
        {"{reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128]}", false},
        {"{reg = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128], block = [0]}", false},
        {"{reg = [1], lane = [2, 4, 8, 16, 32], warp = [64, 64]}", false},
        {"{reg = [1, 2, 4, 8, 16, 32, 64, 128]}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = testing_ctx();
        Module *module = testing_parse(
            ctx, str_format(&ctx->arena,
                            "func @f(%%x: f32) {num_warps = 4, has_layouts = true} {\n"
                            "    %%t = splat %%x : tile<256xf32, %s>\n    return\n}\n",
                            cases[i].layout));
        if ((module != NULL) != cases[i].ok)
            fail_msg("%s: %s", cases[i].layout, testing_messages(ctx));
        assert_int_equal(testing_has_diag(ctx, DIAG_ir_layout_map), !cases[i].ok);
        ctx_destroy(ctx);
    }
    Ctx *ctx = testing_ctx();
    assert_null(testing_parse(ctx, "func @f(%x: f32) {num_warps = 1} {\n"
                                   "    %t = splat %x : tile<32xf32, {lane = [1, 2, 4, 8, 16]}>\n"
                                   "    return\n}\n"));
    assert_true(testing_has_diag(ctx, DIAG_ir_layout_map));
    ctx_destroy(ctx);
}

/* Linear in the number of ops, uses of one value, and blocks passed through. */
static void test_large_functions(void **state) {
    enum { MANY = 100000 };
    Ctx *ctx = testing_ctx();
    Module *module = module_create(ctx);
    Func *func = func_create(module, STR("f"), 0, NULL, NULL);
    Builder b = builder_at_end(func->body);
    Value *first = build_program_id(&b, 0), *x = first;
    for (int i = 0; i < MANY; i++)
        x = build_addi(&b, x, first);
    build_return(&b);
    assert_true(module_verify(module));
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage_is_found),
        cmocka_unit_test(test_good_stays_good),
        cmocka_unit_test(test_layouts_fit_the_function),
        cmocka_unit_test(test_large_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
