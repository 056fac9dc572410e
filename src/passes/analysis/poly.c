#include "passes/analysis/poly.h"
#include "passes/rewrite.h"

static Poly *poly_create(Arena *arena, int count) {
    Poly *poly = arena_alloc(arena, sizeof(Poly) + (size_t)count * sizeof(Term));
    poly->count = count;
    return poly;
}

const Poly *poly_of_term(Arena *arena, const Term *term) {
    Poly *poly = poly_create(arena, term->factor != 0);
    if (poly->count)
        poly->terms[0] = *term;
    return poly;
}

const Poly *poly_constant(Arena *arena, int64_t value) {
    return poly_of_term(arena, &(Term){.factor = value});
}

const Poly *poly_atom(Arena *arena, Value *value) {
    return poly_of_term(arena, &(Term){.factor = 1, .degree = 1, .atoms = {value}});
}

/* Terms of more atoms come first. */
static int compare_products(const Term *a, const Term *b) {
    if (a->degree != b->degree)
        return b->degree - a->degree;
    for (int i = 0; i < a->degree; i++)
        if (a->atoms[i] != b->atoms[i])
            return a->atoms[i]->id < b->atoms[i]->id ? -1 : 1;
    return 0;
}

const Poly *poly_sum(Arena *arena, const Poly *a, const Poly *b, int64_t scale) {
    if (!a || !b)
        return NULL;
    Poly *sum = poly_create(arena, a->count + b->count);
    int n = 0, i = 0, k = 0;
    while (i < a->count || k < b->count) {
        int order = i == a->count   ? 1
                    : k == b->count ? -1
                                    : compare_products(&a->terms[i], &b->terms[k]);
        Term term = order <= 0 ? a->terms[i] : b->terms[k];
        int64_t scaled = 0;
        if (order >= 0 && __builtin_mul_overflow(b->terms[k].factor, scale, &scaled))
            return NULL;
        if (order > 0)
            term.factor = scaled;
        else if (__builtin_add_overflow(term.factor, scaled, &term.factor))
            return NULL;
        i += order <= 0;
        k += order >= 0;
        if (term.factor != 0)
            sum->terms[n++] = term;
    }
    sum->count = n;
    return n <= POLY_MAX_TERMS ? sum : NULL;
}

static bool multiply_terms(const Term *a, const Term *b, Term *out) {
    *out = (Term){.degree = a->degree + b->degree};
    if (out->degree > POLY_MAX_DEGREE || __builtin_mul_overflow(a->factor, b->factor, &out->factor))
        return false;
    for (int i = 0, k = 0; i + k < out->degree;) {
        bool first = k == b->degree || (i < a->degree && a->atoms[i]->id <= b->atoms[k]->id);
        out->atoms[i + k] = first ? a->atoms[i] : b->atoms[k];
        if (first)
            i++;
        else
            k++;
    }
    return true;
}

const Poly *poly_product(Arena *arena, const Poly *a, const Poly *b) {
    if (!a || !b)
        return NULL;
    const Poly *sum = poly_constant(arena, 0);
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < b->count; k++) {
            Term term;
            if (!multiply_terms(&a->terms[i], &b->terms[k], &term))
                return NULL;
            sum = poly_sum(arena, sum, poly_of_term(arena, &term), 1);
        }
    return sum;
}

bool poly_equal(const Poly *a, const Poly *b) {
    if (!a || !b || a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->terms[i].factor != b->terms[i].factor ||
            compare_products(&a->terms[i], &b->terms[i]) != 0)
            return false;
    return true;
}

bool poly_is_constant(const Poly *poly, int64_t *value) {
    if (!poly || poly->count > 1 || (poly->count == 1 && poly->terms[0].degree))
        return false;
    *value = poly->count ? poly->terms[0].factor : 0;
    return true;
}

const Poly *poly_quotient(Arena *arena, const Poly *poly, int64_t divisor) {
    if (!poly || divisor == 0)
        return NULL;
    Poly *quotient = poly_create(arena, poly->count);
    for (int i = 0; i < poly->count; i++) {
        quotient->terms[i] = poly->terms[i];
        int64_t factor = poly->terms[i].factor;
        if (factor == INT64_MIN || factor % divisor != 0)
            return NULL;
        quotient->terms[i].factor = factor / divisor;
    }
    return quotient;
}

bool term_quotient(const Term *term, const Term *divisor, Term *quotient) {
    if (term->factor == INT64_MIN || term->factor % divisor->factor != 0)
        return false;
    *quotient = (Term){.factor = term->factor / divisor->factor};
    int k = 0;
    for (int i = 0; i < term->degree; i++) {
        if (k < divisor->degree && term->atoms[i] == divisor->atoms[k])
            k++;
        else
            quotient->atoms[quotient->degree++] = term->atoms[i];
    }
    return k == divisor->degree;
}

bool poly_has(const Poly *poly, const Value *atom) {
    for (int i = 0; i < poly->count; i++)
        for (int k = 0; k < poly->terms[i].degree; k++)
            if (poly->terms[i].atoms[k] == atom)
                return true;
    return false;
}

bool poly_is_outside(const Poly *poly, const Op *op) {
    for (int i = 0; i < poly->count; i++)
        for (int k = 0; k < poly->terms[i].degree; k++)
            if (!value_is_outside(poly->terms[i].atoms[k], op))
                return false;
    return true;
}

DType poly_dtype(const Poly *poly) {
    for (int i = 0; poly && i < poly->count; i++) {
        if (poly->terms[i].factor != int_wrap(DT_I32, poly->terms[i].factor))
            return DT_I64;
        for (int k = 0; k < poly->terms[i].degree; k++)
            if (poly->terms[i].atoms[k]->type->dtype == DT_I64)
                return DT_I64;
    }
    return DT_I32;
}

static Value *build_atom(Builder *b, Value *atom, const Type *type) {
    return atom->type == type ? atom : build_extsi(b, atom, type);
}

static Value *build_term(Builder *b, const Term *term, const Type *type) {
    if (term->degree == 0)
        return rewrite_int(b, type, term->factor);
    Value *product = build_atom(b, term->atoms[0], type);
    for (int i = 1; i < term->degree; i++)
        product = build_muli(b, product, build_atom(b, term->atoms[i], type));
    if (term->factor == 1)
        return product;
    return build_muli(b, product, rewrite_int(b, type, term->factor));
}

Value *poly_build(Builder *b, const Poly *poly, const Type *type) {
    Value *sum = NULL;
    for (int i = 0; i < poly->count; i++) {
        Term term = poly->terms[i];
        bool subtracts = sum && term.factor < 0 && term.factor != INT64_MIN;
        if (subtracts)
            term.factor = -term.factor;
        Value *value = build_term(b, &term, type);
        sum = !sum ? value : subtracts ? build_subi(b, sum, value) : build_addi(b, sum, value);
    }
    return sum ? sum : rewrite_int(b, type, 0);
}

static void print_term(const Term *term, StrBuf *out) {
    int64_t factor = term->factor;
    if (factor != 1 || term->degree == 0)
        strbuf_printf(out, "%lld%s", (long long)factor, term->degree ? " * " : "");
    for (int i = 0; i < term->degree; i++) {
        const Value *atom = term->atoms[i];
        strbuf_puts(out, i ? " * " : "");
        if (atom->name.len)
            strbuf_printf(out, "%.*s", STR_ARG(atom->name));
        else
            strbuf_printf(out, "(%s)", atom->def ? op_info[atom->def->code].name : "carried");
    }
}

void poly_print(const Poly *poly, StrBuf *out) {
    for (int i = 0; i < poly->count; i++) {
        strbuf_puts(out, i ? " + " : "");
        print_term(&poly->terms[i], out);
    }
    if (!poly->count)
        strbuf_puts(out, "0");
}
