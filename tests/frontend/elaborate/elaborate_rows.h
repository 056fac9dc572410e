/* Types and values of expressions: each row is an expression of tiles x and y, the type it must
 * have and the four values it must give, worked out by hand from the rules of the language. */
#ifndef TILEC_TESTS_ELABORATE_ROWS_H
#define TILEC_TESTS_ELABORATE_ROWS_H

#include "elaborate_testing.h"

typedef struct Row {
    const char *expression, *result; /* result: as an attribute of tl */
    Elem x_elem, y_elem, out;
    double x[4], y[4], wanted[4];
} Row;

static inline void run_rows(const Row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const Row *row = &rows[i];
        char source[1024], signature[64];
        bool is_bool = strcmp(row->result, "int1") == 0;
        snprintf(source, sizeof source,
                 "import triton\nimport triton.language as tl\n@triton.jit\n"
                 "def k(x_ptr, y_ptr, out_ptr):\n"
                 "    i = tl.arange(0, 4)\n"
                 "    x = tl.load(x_ptr + i)\n"
                 "    y = tl.load(y_ptr + i)\n"
                 "    r = %s\n"
                 "    tl.static_assert(r.dtype == tl.%s, f'it is {r.dtype}')\n"
                 "    tl.store(out_ptr + i, r)\n",
                 row->expression, row->result);
        snprintf(signature, sizeof signature, "*%s, *%s, *%s", elem_info[row->x_elem].text,
                 elem_info[row->y_elem].text, is_bool ? "i8" : elem_info[row->out].text);
        KernelRun *run = &(KernelRun){0};
        run_begin(run, source, signature);
        run_array(run, row->x_elem, 4, row->x);
        run_array(run, row->y_elem, 4, row->y);
        TestArray *out = run_array(run, row->out, 4, NULL);
        run_kernel(run);
        expect_elements(row->expression, out, row->wanted);
        run_end(run);
    }
}

#endif
