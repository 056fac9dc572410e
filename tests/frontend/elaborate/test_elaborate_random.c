/* Random numbers: the known answers of philox4x32_10, and what rand and randint make of its first
 * word. */
#include "elaborate_testing.h"

/* Random123's known answers for philox4x32_10. */
static void test_philox(void **state) {
    static const struct {
        uint32_t counter[4], key[2], wanted[4];
    } vectors[] = {
        {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        KernelRun *run = &(KernelRun){0};
        run_begin(run,
                  "import triton\nimport triton.language as tl\n@triton.jit\n"
                  "def k(c_ptr, out_ptr, seed):\n"
                  "    a, b, c, d = tl.philox(seed, tl.load(c_ptr), tl.load(c_ptr + 1),\n"
                  "                           tl.load(c_ptr + 2), tl.load(c_ptr + 3))\n"
                  "    tl.store(out_ptr, a)\n    tl.store(out_ptr + 1, b)\n"
                  "    tl.store(out_ptr + 2, c)\n    tl.store(out_ptr + 3, d)\n",
                  "*u32, *u32, i64");
        double counter[4], wanted[4];
        for (int i = 0; i < 4; i++) {
            counter[i] = vectors[v].counter[i];
            wanted[i] = vectors[v].wanted[i];
        }
        run_array(run, ELEM_U32, 4, counter);
        TestArray *out = run_array(run, ELEM_U32, 4, NULL);
        run_int(run, (int64_t)((uint64_t)vectors[v].key[1] << 32 | vectors[v].key[0]));
        run_kernel(run);
        expect_elements("philox", out, wanted);
        run_end(run);
    }
}

/* Values computed from philox4x32_10 (counter = offset, key = seed) and the scaling of the first
 * word. */
static void test_rand(void **state) {
    static const struct {
        const char *function;
        Elem elem;
        int64_t seed;
        double wanted[4];
    } cases[] = {
        {"rand",
         ELEM_F32,
         42,
         {0.7740801572799683, 0.024562695994973183, 0.3482663035392761, 0.5408014059066772}},
        {"rand",
         ELEM_F32,
         4294967303,
         {0.7012559175491333, 0.10848541557788849, 0.0395364873111248, 0.25443118810653687}},
        {"randint", ELEM_U32, 42, {0x9ceaf053, 0xfcdb2127, 0xd36c0225, 0xbac70475}},
        {"randint", ELEM_U32, 4294967303, {0x59c2c148, 0xde2d9b0, 0xfaf077e2, 0xdf6ecc51}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char source[512];
        snprintf(source, sizeof source,
                 "import triton\nimport triton.language as tl\n@triton.jit\ndef k(out_ptr, seed):\n"
                 "    i = tl.arange(0, 4)\n    tl.store(out_ptr + i, tl.%s(seed, i))\n",
                 cases[c].function);
        KernelRun *run = &(KernelRun){0};
        run_begin(run, source, cases[c].elem == ELEM_F32 ? "*fp32, i64" : "*u32, i64");
        TestArray *out = run_array(run, cases[c].elem, 4, NULL);
        run_int(run, cases[c].seed);
        run_kernel(run);
        expect_elements(cases[c].function, out, cases[c].wanted);
        run_end(run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_rand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
