/* Every row of the table of instructions can be written: what is made from a row is read, and read
 * as that row or one before it that takes the same text. */
#include "sim_test.h"

#include "random_ptx.h"
#include "sim/parse/table.h"

enum { TRIES = 24 };

/* A row may check its operands, and a target may lack it: those messages are no failure to read. */
static bool only_checks(const SimTest *test) {
    for (const Diagnostic *d = test->ctx->diags.first; d; d = d->next)
        if (d->id == DIAG_ptx_expected || d->id == DIAG_ptx_instruction ||
            d->id == DIAG_ptx_unknown_name || d->id == DIAG_ptx_operand_count ||
            d->id == DIAG_ptx_operand_range || d->id == DIAG_ptx_not_writable ||
            d->id == DIAG_ptx_directive)
            return false;
    return true;
}

static const char *module_of(Arena *arena, Choices *choices, const Row *row, const char *target) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text,
                  ".version 8.8\n.target %s\n.address_size 64\n%s.entry k(%s) {\n%s"
                  "$L0: $L1: $L2: $L3: $L4: $L5: $L6: $L7: ts: .branchtargets $L0, $L1;\n",
                  target, random_ptx_module_head, random_ptx_parameters, random_ptx_prologue);
    random_ptx_insn(choices, row, &text);
    strbuf_puts(&text, "ret; }\n");
    return text.ptr;
}

static void test_rows(void **state) {
    for (unsigned r = 0; r < insn_row_count; r++) {
        bool read = false;
        for (unsigned i = 0; i < TRIES; i++) {
            SimTest test = sim_test_begin();
            Choices choices = {.state = r * 1000 + i};
            const char *text =
                module_of(&test.ctx->arena, &choices, &insn_rows[r], i % 2 ? "sm_90a" : "sm_100a");
            read |= sim_test_parse(&test, text) != NULL;
            if (!only_checks(&test))
                fail_msg("row %u (%s): %s\n%s", r, insn_rows[r].name, sim_test_messages(&test),
                         text);
            sim_test_end(&test);
        }
        if (!read && !insn_rows[r].check)
            fail_msg("row %u (%s %s %s %s) is never read", r, insn_rows[r].name,
                     insn_rows[r].modifiers, insn_rows[r].types, insn_rows[r].operands);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
