/* Attributes of ops by name, by number, by family, and from one op to another. */
#include "ir_testing.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static Builder in_new_function(Ctx *ctx) {
    Module *module = module_create(ctx);
    return builder_at_end(func_create(module, STR("f"), 0, NULL, NULL)->body);
}

static Op *bare_op(Builder *b, OpCode code) {
    return op_create(b, code, 0, NULL, 0, NULL);
}

/* All of the union, of which an initialiser sets one member. */
static Attr no_value(void) {
    Attr none;
    memset(&none, 0, sizeof none);
    return none;
}

static Attr some_value(AttrKind kind) {
    static const int64_t ints[] = {3, 5};
    if (kind == ATTR_F64)
        return (Attr){.f = 0.5};
    if (kind == ATTR_STR)
        return (Attr){.s = STR("text")};
    if (kind == ATTR_INTS)
        return (Attr){.ints = {ints, 2}};
    return (Attr){.i = kind == ATTR_I64 ? INT64_MIN + 7 : 1};
}

static bool is_same(AttrKind kind, Attr a, Attr b) {
    if (kind == ATTR_F64)
        return a.f == b.f;
    if (kind == ATTR_STR)
        return a.s.ptr == b.s.ptr && a.s.len == b.s.len;
    if (kind == ATTR_INTS)
        return a.ints.ptr == b.ints.ptr && a.ints.len == b.ints.len;
    return a.i == b.i;
}

/* Each attribute of each op has a place of its own, which its name gives too. */
static void test_places(void **state) {
    Ctx *ctx = testing_ctx();
    Builder b = in_new_function(ctx);
    for (int code = 0; code < OP_COUNT; code++) {
        const OpInfo *info = &op_info[code];
        for (uint32_t set = 0; set < (uint32_t)info->attr_count; set++) {
            Op *op = bare_op(&b, (OpCode)code);
            op_set_attr(op, set, some_value(info->attr[set].kind));
            for (uint32_t i = 0; i < (uint32_t)info->attr_count; i++) {
                AttrKind kind = info->attr[i].kind;
                Attr wanted = i == set ? some_value(kind) : no_value();
                assert_true(is_same(kind, op_attr(op, i), wanted));
                const char *first = op_attr_place(op, info->attr[0].name);
                assert_ptr_equal(op_attr_place(op, info->attr[i].name),
                                 first + info->attr[i].offset);
            }
        }
    }
    ctx_destroy(ctx);
}

static void test_fields(void **state) {
    Ctx *ctx = testing_ctx();
    Builder b = in_new_function(ctx);
    Op *load = bare_op(&b, OP_load);
    *load_attrs(load) = (struct load_attrs){
        .cache = CACHE_CG, .evict = EVICT_LAST, .is_volatile = true, .width = 4};
    assert_int_equal(op_attr(load, 0).i, CACHE_CG);
    assert_int_equal(op_attr(load, 1).i, EVICT_LAST);
    assert_int_equal(op_attr(load, 2).i, true);
    assert_int_equal(op_attr(load, 3).i, 4);
    assert_int_equal(op_attr(load, 4).i, false);
    ctx_destroy(ctx);
}

static void test_families(void **state) {
    Ctx *ctx = testing_ctx();
    Builder b = in_new_function(ctx);
    Op *load = bare_op(&b, OP_load), *block = bare_op(&b, OP_load_block);
    Op *store = bare_op(&b, OP_store), *add = bare_op(&b, OP_addi);
    op_set_is_volatile(load, true);
    op_set_is_volatile(block, true);
    assert_true(load_attrs(load)->is_volatile && load_block_attrs(block)->is_volatile);
    assert_true(op_is_volatile(load) && op_is_volatile(block));
    assert_false(op_is_volatile(store) || op_is_volatile(add));
    store_attrs(store)->width = 8;
    assert_int_equal(op_width(store), 8);
    assert_int_equal(op_width(block), 0);
    assert_true(op_has_attr(store, ATTR_NAME_width));
    assert_false(op_has_attr(block, ATTR_NAME_width));
    ctx_destroy(ctx);
}

static void test_copies(void **state) {
    Ctx *ctx = testing_ctx();
    Builder b = in_new_function(ctx);
    Op *load = bare_op(&b, OP_load), *block = bare_op(&b, OP_load_block);
    *load_attrs(load) = (struct load_attrs){
        .cache = CACHE_CS, .evict = EVICT_FIRST, .is_volatile = true, .width = 2};
    *load_block_attrs(block) = (struct load_block_attrs){.checked = 3, .padding = PADDING_NAN};
    op_copy_attrs(block, load);
    const struct load_block_attrs *attrs = load_block_attrs(block);
    assert_int_equal(attrs->cache, CACHE_CS);
    assert_int_equal(attrs->evict, EVICT_FIRST);
    assert_true(attrs->is_volatile);
    assert_int_equal(attrs->checked, 3); /* a load has neither */
    assert_int_equal(attrs->padding, PADDING_NAN);
    /* Of the same name, but numbers of another kind. */
    Op *integer = bare_op(&b, OP_constant_int), *number = bare_op(&b, OP_constant_float);
    constant_int_attrs(integer)->value = 7;
    constant_float_attrs(number)->value = 0.5;
    op_copy_attrs(integer, number);
    assert_int_equal(constant_int_attrs(integer)->value, 7);
    ctx_destroy(ctx);
}

#ifndef NDEBUG
static int load_attrs_of(const Op *op) {
    return load_attrs(op)->is_volatile;
}

static int axis_of(const Op *op) {
    return (int)op_axis(op);
}

static void assert_stops(int (*take)(const Op *op), const Op *op) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        fclose(stderr);
        _exit(take(op));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
#endif

/* The attributes of another op are none. */
static void test_wrong_op_stops(void **state) {
#ifdef NDEBUG
    skip();
#else
    Ctx *ctx = testing_ctx();
    Builder b = in_new_function(ctx);
    Op *store = bare_op(&b, OP_store);
    assert_stops(load_attrs_of, store);
    assert_stops(axis_of, store);
    ctx_destroy(ctx);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),         cmocka_unit_test(test_fields),
        cmocka_unit_test(test_families),       cmocka_unit_test(test_copies),
        cmocka_unit_test(test_wrong_op_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
