/* The context, builders, edits and queries. After each edit the verifier looks at the use lists. */
#include "ir_testing.h"

static const char loop_text[] = "func @f(%n: i32, %x: f32, %y: f32) {\n"
                                "    %one = constant_int {value = 1} : i32\n"
                                "    %l, %k = for %n, %n, %one, %x, %y : f32, f32"
                                " (%i: i32, %a: f32, %b: f32) {\n"
                                "        %s = addf %a, %y : f32\n"
                                "        %t = mulf %s, %b : f32\n"
                                "        yield %s, %t\n"
                                "    }\n"
                                "    %u = addf %k, %k : f32\n"
                                "    return\n"
                                "}\n";

static Op *nth(Block *block, uint32_t index) {
    Op *op = block->first;
    while (index--)
        op = op->next;
    return op;
}

static uint32_t count_uses(const Value *value) {
    uint32_t count = 0;
    value_for_each_use (use, value)
        count++;
    return count;
}

static void assert_verifies(Module *module) {
    if (!module_verify(module))
        fail_msg("%s\n%s", testing_messages(module->ctx), testing_print(module));
}

/* Context */

static void test_interning(void **state) {
    Ctx *ctx = testing_ctx();
    const Type *first = type_scalar(ctx, DT_F32);
    Str name = ctx_intern(ctx, STR("x1"));
    /* Enough to grow the tables several times. */
    for (int i = 0; i < 5000; i++) {
        char text[16];
        int len = snprintf(text, sizeof text, "x%d", i);
        Str a = ctx_intern(ctx, (Str){text, (size_t)len});
        assert_string_equal(a.ptr, text);
        assert_ptr_equal(ctx_intern(ctx, str_from(text)).ptr, a.ptr);
    }
    assert_ptr_equal(ctx_intern(ctx, STR("x1")).ptr, name.ptr);
    assert_ptr_not_equal(ctx_intern(ctx, STR("x")).ptr, ctx_intern(ctx, (Str){"x", 0}).ptr);
    for (int bits = 0; bits <= MAX_TILE_BITS; bits++)
        for (int dtype = 0; dtype < DT_COUNT; dtype++) {
            int64_t shape[] = {(int64_t)1 << bits};
            const Type *type = type_get(ctx, TYPE_NUMBER, (DType)dtype, 1, shape, NULL);
            assert_ptr_equal(type, type_get(ctx, TYPE_NUMBER, (DType)dtype, 1, shape, NULL));
            assert_int_equal(type_numel(type), shape[0]);
            assert_ptr_equal(type_with_element(ctx, type, TYPE_NUMBER, DT_F32),
                             type_get(ctx, TYPE_NUMBER, DT_F32, 1, shape, NULL));
        }
    assert_ptr_equal(type_scalar(ctx, DT_F32), first);
    assert_ptr_not_equal(type_pointer(ctx, DT_F32), first);
    ctx_destroy(ctx);
    ctx_destroy(NULL);
}

/* False if the arena's limit was hit. */
static bool parse_within(size_t limit) {
    Ctx *volatile ctx = ctx_create();
    volatile bool enough = false;
    assert_non_null(ctx);
    if (!setjmp(ctx->oom)) {
        ctx->arena.limit = limit;
        StrBuf text = strbuf(&ctx->arena);
        strbuf_puts(&text, "func @f(%n: i32) {\n");
        for (int i = 0; i < 3000; i++)
            strbuf_printf(&text, "    %%v%d = addi %%n, %%n : i32\n", i);
        strbuf_puts(&text, "    return\n}\n");
        assert_non_null(testing_parse(ctx, text.ptr));
        enough = true;
    }
    ctx_destroy(ctx);
    return enough;
}

/* Parsing runs out of memory at many places; nothing is lost or used after. */
static void test_out_of_memory(void **state) {
    for (size_t limit = 70 * 1024; limit < 1024 * 1024; limit += 16 * 1024)
        assert_false(parse_within(limit));
    assert_true(parse_within(16 * 1024 * 1024));
}

/* Edits */

static void test_operands_grow_and_shrink(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, loop_text);
    Func *func = module->funcs;
    Builder b = builder_before(func->body->last);
    Op *op = build_print(&b, 0, NULL, STR(""), false, 0);
    for (uint32_t i = 0; i < 50; i++) {
        op_add_operand(op, &func->body->args[i % 3]);
        assert_int_equal(op->nin, i + 1);
        assert_verifies(module);
    }
    uint32_t before = count_uses(&func->body->args[0]);
    for (uint32_t i = 50; i > 0; i--) {
        op_remove_operand(op, i * 7 % i);
        assert_int_equal(op->nin, i - 1);
        assert_verifies(module);
    }
    assert_int_equal(count_uses(&func->body->args[0]), before - 17);
    op_add_operand(op, &func->body->args[1]);
    assert_ptr_equal(op_in(op, 0), &func->body->args[1]);
    assert_verifies(module);
    ctx_destroy(ctx);
}

/* One more carried value, one less: operand, result, argument and yielded value go together. */
static void test_carried_values(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, loop_text);
    Op *loop = nth(module->funcs->body, 1), *user = nth(module->funcs->body, 2);
    Block *body = loop->regions[0];
    op_add_operand(loop, &module->funcs->body->args[1]);
    op_add_result(loop, type_scalar(ctx, DT_F32));
    op_add_operand(body->last, block_add_arg(body, type_scalar(ctx, DT_F32)));
    assert_verifies(module);
    /* The result that the array's move took along is still the one in use. */
    assert_ptr_equal(op_in(user, 0), &loop->out[1]);
    /* Carried value 0 goes: its argument's use becomes %x. */
    value_replace(&body->args[1], &module->funcs->body->args[1]);
    op_remove_operand(body->last, 0);
    block_remove_arg(body, 1);
    op_remove_operand(loop, FOR_FIXED_OPERANDS);
    op_remove_result(loop, 0);
    assert_verifies(module);
    assert_ptr_equal(op_in(user, 0), &loop->out[0]);
    assert_int_equal(loop->out[0].index, 0);
    ctx_destroy(ctx);
}

static void test_replace_and_remove(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, loop_text);
    Func *func = module->funcs;
    Value *x = &func->body->args[1], *y = &func->body->args[2];
    uint32_t both = count_uses(x) + count_uses(y);
    value_replace(y, x);
    assert_true(value_unused(y));
    assert_int_equal(count_uses(x), both);
    assert_verifies(module);
    value_replace(y, x); /* of an unused value: nothing */
    value_replace(x, x); /* by itself: nothing */
    assert_verifies(module);
    assert_int_equal(count_uses(x), both);
    op_remove(nth(func->body, 2));
    /* The uses inside the regions go with the op. */
    op_remove(nth(func->body, 1));
    assert_true(value_unused(x));
    assert_true(value_unused(op_out(nth(func->body, 0))));
    assert_verifies(module);
    ctx_destroy(ctx);
}

static void test_move(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, loop_text);
    Op *loop = nth(module->funcs->body, 1);
    Op *mul = nth(loop->regions[0], 1), *add = nth(loop->regions[0], 0);
    op_set_operand(add, 0, &module->funcs->body->args[1]);
    op_move_before(add, loop);
    assert_ptr_equal(loop->prev, add);
    assert_ptr_equal(loop->regions[0]->first, mul);
    assert_null(mul->prev);
    assert_ptr_equal(add->block, module->funcs->body);
    assert_verifies(module);
    ctx_destroy(ctx);
}

static void test_clone(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, loop_text);
    Op *loop = nth(module->funcs->body, 1);
    ValueMap *map = value_map_create(&ctx->arena);
    value_map_set(map, &module->funcs->body->args[1], &module->funcs->body->args[2]);
    Builder b = builder_after(loop);
    Op *copy = op_clone(&b, loop, map);
    assert_verifies(module);
    assert_ptr_equal(loop->next, copy);
    assert_ptr_equal(op_in(copy, 3), &module->funcs->body->args[2]); /* mapped */
    assert_ptr_equal(op_in(copy, 0), op_in(loop, 0));                /* not mapped */
    assert_ptr_equal(value_map_get(map, &loop->out[1]), &copy->out[1]);
    assert_ptr_equal(value_map_get(map, &loop->regions[0]->args[2]), &copy->regions[0]->args[2]);
    assert_null(value_map_get(map, op_out(nth(module->funcs->body, 0))));
    /* The copy's body uses the copy's arguments. */
    assert_ptr_equal(op_in(copy->regions[0]->first, 0), &copy->regions[0]->args[1]);
    ctx_destroy(ctx);
}

/* Queries */

static void test_constants(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module =
        testing_parse_good(ctx, "func @f(%n: i32) {\n"
                                "    %c = constant_int {value = -7} : i32\n"
                                "    %s = splat %c : tile<8xi32>\n"
                                "    %e = expand_dims %s {axis = 0} : tile<1x8xi32>\n"
                                "    %b = broadcast %e : tile<4x8xi32>\n"
                                "    %r = reshape %b : tile<32xi32>\n"
                                "    %t = splat %n : tile<8xi32>\n"
                                "    %d = constant_float {value = 0x1.8p+0} : tile<8xf32>\n"
                                "    return\n}\n");
    Block *body = module->funcs->body;
    int64_t i = 0;
    double f = 0;
    for (uint32_t k = 0; k < 5; k++) {
        i = 0;
        assert_true(value_int_constant(op_out(nth(body, k)), &i));
        assert_int_equal(i, -7);
    }
    assert_false(value_int_constant(op_out(nth(body, 5)), &i));
    assert_false(value_int_constant(&body->args[0], &i));
    assert_false(value_int_constant(op_out(nth(body, 6)), &i));
    assert_true(value_float_constant(op_out(nth(body, 6)), &f) && f == 1.5);
    assert_false(value_float_constant(op_out(nth(body, 0)), &f));
    ctx_destroy(ctx);
}

static bool stop_at_yield(Op *op, void *user) {
    ++*(int *)user;
    return op->code != OP_yield;
}

static void test_structure_queries(void **state) {
    Ctx *ctx = testing_ctx();
    Module *module = testing_parse_good(ctx, loop_text);
    Func *func = module->funcs;
    Op *loop = nth(func->body, 1), *add = loop->regions[0]->first;
    assert_int_equal(func_number(func), 3 + 1 + 2 + 3 + 2 + 1);
    assert_int_equal(func->body->args[2].id, 2);
    assert_true(add->out[0].id > loop->regions[0]->args[2].id);
    assert_ptr_equal(op_ancestor_in(add, func->body), loop);
    assert_ptr_equal(op_ancestor_in(add, loop->regions[0]), add);
    assert_null(op_ancestor_in(loop, loop->regions[0]));
    assert_int_equal(op_effects(loop), 0);
    Builder b = builder_before(add);
    build_barrier(&b, false, false);
    assert_int_equal(op_effects(loop), READS | WRITES | LREADS | LWRITES | SYNC);
    int visited = 0;
    assert_false(func_walk(func, stop_at_yield, &visited));
    assert_int_equal(visited, 6);
    assert_ptr_equal(value_block(op_out(add)), loop->regions[0]);
    assert_ptr_equal(value_block(&loop->regions[0]->args[0]), loop->regions[0]);
    ctx_destroy(ctx);
}

/* A builder's bug is reported in every build; debug builds stop, so this runs in the others. */
static void test_builder_reports(void **state) {
#ifdef NDEBUG
    Ctx *ctx = testing_ctx();
    Module *module = module_create(ctx);
    Func *func = func_create(module, STR("f"), 0, NULL, NULL);
    Builder b = builder_at_end(func->body);
    Value *x = build_program_id(&b, 0);
    assert_non_null(build_addf(&b, x, x)->type);
    assert_true(testing_has_diag(ctx, DIAG_ir_builder));
    ctx_destroy(ctx);
#else
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interning),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_operands_grow_and_shrink),
        cmocka_unit_test(test_carried_values),
        cmocka_unit_test(test_replace_and_remove),
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_clone),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_structure_queries),
        cmocka_unit_test(test_builder_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
