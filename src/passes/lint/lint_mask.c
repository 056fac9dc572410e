/* Masks that cannot guard their access:
 *
 * - along the wrong axis: where the addresses differ the mask is the same, and where it differs
 * they are the same
 *
 *       tl.load(p + rows[:, None] * stride, mask=(cols < N)[None, :])
 *
 * - with the extents exchanged: the index whose stride is the length of a row is held below that
 * length, and the index within the row below another
 *
 *       tl.load(p + rows[:, None] * N + cols[None, :], mask=(rows < N)[:, None] & (cols < M)[None,
 * :]) */
#include "passes/lint/lint.h"

static void check_axis(const LintInput *input, const Op *op, const Value *pointer,
                       const Value *mask) {
    uint32_t addresses = input->varies[pointer->id], masked = input->varies[mask->id];
    if (!addresses || !masked || (addresses & masked))
        return;
    ctx_diag(func_ctx(input->func), op->span, mask_along_other_axis, __builtin_ctz(addresses),
             __builtin_ctz(masked));
    diag_hint(&func_ctx(input->func)->diags,
              "compare the index that the address has along dimension %d",
              __builtin_ctz(addresses));
}

/* The number that the polynomial is, times nothing. */
static Value *only_atom(const Poly *poly) {
    bool is_atom =
        poly && poly->count == 1 && poly->terms[0].factor == 1 && poly->terms[0].degree == 1;
    return is_atom ? poly->terms[0].atoms[0] : NULL;
}

/* The kernel's number that the index is held below: the bound's only positive term that is a
 * parameter; NULL: none. */
static const Value *extent_of(const LintInput *input, const Constraints *constraints, int dim) {
    const Value *extent = NULL;
    for (int i = 0; i < constraints->count; i++) {
        const Constraint *c = &constraints->list[i];
        if (c->dim != dim || !c->is_upper)
            continue;
        for (int t = 0; t < c->bound->count; t++) {
            const Term *term = &c->bound->terms[t];
            bool is_param = term->degree == 1 && term->factor == 1 &&
                            term->atoms[0]->owner == input->func->body;
            if (is_param && extent)
                return NULL;
            extent = is_param ? term->atoms[0] : extent;
        }
    }
    return extent;
}

static const char *name_of(const LintInput *input, const Value *param) {
    return str_format(input->arena, "%.*s", STR_ARG(input->func->params[param->index].name));
}

static void check_extents(const LintInput *input, const Op *op, Value *pointer, Value *mask) {
    const Affine *form = affine_of(input->affines, pointer);
    Constraints constraints;
    mask_constraints(input->affines, mask, op, &constraints);
    for (int row = 0; !form->why && row < form->rank; row++) {
        for (int column = 0; column < form->rank; column++) {
            const Value *length = only_atom(form->dims[row].stride);
            int64_t unit;
            if (row == column || !length || length->owner != input->func->body ||
                !poly_is_constant(form->dims[column].stride, &unit) || unit != 1)
                continue;
            const Value *rows = extent_of(input, &constraints, row);
            const Value *columns = extent_of(input, &constraints, column);
            if (rows != length || !columns || columns == length)
                continue;
            ctx_diag(func_ctx(input->func), op->span, mask_extents_exchanged,
                     name_of(input, length), row, name_of(input, columns), column);
            diag_hint(&func_ctx(input->func)->diags,
                      "the distance between elements along dimension %d is `%s`: that many are in "
                      "a row along dimension %d",
                      row, name_of(input, length), column);
            return;
        }
    }
}

static bool check_op(Op *op, void *user) {
    const LintInput *input = user;
    Value *pointer = lint_pointer(op), *mask = pointer ? op_mask(op) : NULL;
    if (mask && mask->type->rank > 0) {
        check_axis(input, op, pointer, mask);
        check_extents(input, op, pointer, mask);
    }
    return true;
}

void lint_mask(const LintInput *input) {
    LintInput copy = *input;
    func_walk(input->func, check_op, &copy);
}
