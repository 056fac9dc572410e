/* Running two functions side by side: see equivalence.h.
 *
 * Arguments are guessed from the parameter types: a pointer gets an array of its own, large enough
 * for small sizes and strides; integers get small numbers that respect the promised divisibility.
 * Numbers in memory are of any size in one guess, in one all integers are 0, as counters and locks
 * are before a launch, and in the others small enough to serve as indices. A kernel may go out of
 * bounds or divide by zero on a guess; then that one says nothing. One that computes too many
 * elements is run on a single program instead of several.
 *
 * Of a run the hash of what it stored is kept: the second function of a comparison is mostly the
 * first one of the next, with the same arguments, and then runs there only if something differs.
 *
 * A sum in another order rounds differently, and what is a step of it (its integer part, the side
 * of a bound it lies on, the larger of two) may then be another step. Where results differ, the
 * function before the pass also runs on slightly different inputs, by more than any order of its
 * sums rounds: an element may differ by as much as these runs make of it. Other changes are larger,
 * or of elements that the inputs move little. */
#include "passes/contract/equivalence.h"
#include "interp/interp.h"
#include "types/float_bits.h"

#include <math.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    GUESSES = EQUIVALENCE_GUESSES,
    WILD_GUESS = 1,
    SMALLEST_GUESS = 3,
    ZERO_GUESS = 4,
    ARRAY_ELEMENTS = 1 << 15,
    ARRAY_PERIOD = 8191, /* a prime, as no stride of a kernel is: elements from there on repeat */
    MAX_STEPS = 200000,
    MAX_WORK = 1 << 24, /* elements that are computed in one run */
    MORE_WORK = 16,     /* times as many for what a pass made: it may take more ops for the same */
    NUDGES = 4          /* pairs of one direction and its opposite */
};

/* Of what nudged inputs make of an element; they go a few ways out of many. */
static const double SLACK = 4;

/* Numbers from here on, summed in single precision, may overflow in one order and not in another.
 */
static const double NEAR_OVERFLOW = 0x1p112;

typedef struct Setup {
    Arena *arena;
    uint32_t nparams, narrays;
    InterpArg *args;
    InterpArray *arrays;
    const Type **array_types;
    double rounding; /* of what the function adds up, of 1 */
} Setup;

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double random_float(uint64_t *state) {
    return (double)(int64_t)(next_random(state) % 8001) / 1000.0 - 4.0;
}

static uint64_t random_int(DType dtype, int guess, uint64_t *state) {
    uint64_t bits = next_random(state);
    if (guess == ZERO_GUESS)
        return 0;
    if (guess == WILD_GUESS) /* of every magnitude, and either sign */
        return (uint64_t)((int64_t)bits >> bits % 61);
    return bits >> 32 & (dtype == DT_I1 ? 1 : 15);
}

static void fill_array(InterpArray *array, DType dtype, int guess, uint64_t *state) {
    size_t bytes = (size_t)dtype_bytes(dtype), period = ARRAY_PERIOD * bytes;
    for (size_t at = 0; at < array->bytes && at < period; at += bytes) {
        uint64_t bits = dtype_is_float(dtype) ? float_to_bits(dtype, random_float(state))
                                              : random_int(dtype, guess, state);
        if (dtype == DT_I1)
            bits &= 1;
        memcpy((char *)array->data + at, &bits, bytes); /* little-endian hosts only */
    }
    for (size_t at = period; at < array->bytes; at += period)
        memcpy((char *)array->data + at, array->data,
               array->bytes - at < period ? array->bytes - at : period);
}

/* Sizes and strides of the guess: 0 is a full tile's worth, later ones smaller. */
static int64_t guess_int(const FuncParam *param, int guess, uint64_t *state) {
    static const int64_t scale[GUESSES] = {96, 40, 17, 1, 64};
    int64_t unit = param->divisible > 0 ? param->divisible : 1;
    int64_t value = scale[guess] + (int64_t)(next_random(state) % 4);
    return unit > value ? (guess == SMALLEST_GUESS ? 0 : unit) : value / unit * unit;
}

static void make_setup(Setup *setup, const Func *func, int guess, uint64_t seed) {
    uint64_t state = seed + (uint64_t)guess;
    uint32_t n = setup->nparams = func->body->nargs;
    setup->args = ARENA_ARRAY(setup->arena, InterpArg, n + 1);
    setup->arrays = ARENA_ARRAY(setup->arena, InterpArray, n + 1);
    setup->array_types = ARENA_ARRAY(setup->arena, const Type *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const Type *type = func->body->args[i].type;
        InterpArg *arg = &setup->args[i];
        if (!type_is_pointer(type)) {
            arg->i = guess_int(&func->params[i], guess, &state);
            if (type_is_bool(type))
                arg->i &= 1;
            arg->f = random_float(&state);
            continue;
        }
        InterpArray *array = &setup->arrays[setup->narrays];
        array->name = func->params[i].name;
        array->bytes = (size_t)ARRAY_ELEMENTS * (size_t)dtype_bytes(type->dtype);
        array->data = arena_alloc(setup->arena, array->bytes);
        fill_array(array, type->dtype, guess, &state);
        setup->array_types[setup->narrays] = type;
        *arg = (InterpArg){.is_array = true, .array = setup->narrays++};
    }
}

/* The same arguments, in arrays of its own. */
static Setup copy_setup(const Setup *setup) {
    Setup copy = *setup;
    copy.arrays = ARENA_ARRAY(setup->arena, InterpArray, setup->nparams + 1);
    for (uint32_t i = 0; i < setup->narrays; i++) {
        copy.arrays[i] = setup->arrays[i];
        copy.arrays[i].data = arena_alloc(setup->arena, setup->arrays[i].bytes);
        memcpy(copy.arrays[i].data, setup->arrays[i].data, setup->arrays[i].bytes);
    }
    return copy;
}

/* The next number of the type: away from zero if `up`, and never past the finite ones. */
static uint64_t next_to(DType dtype, uint64_t bits, bool up) {
    uint64_t next = up ? bits + 1 : bits - 1;
    double before = float_from_bits(dtype, bits), after = float_from_bits(dtype, next);
    return before != 0 && isfinite(after) && signbit(before) == signbit(after) ? next : bits;
}

/* Each number of the array times 1 + or - `by`, and at least the next number of its type. */
static void nudge_array(InterpArray *array, DType dtype, double by, bool opposite,
                        uint64_t *state) {
    size_t bytes = (size_t)dtype_bytes(dtype);
    for (size_t at = 0; at < array->bytes; at += bytes) {
        uint64_t bits = 0;
        memcpy(&bits, (char *)array->data + at, bytes);
        bool up = (next_random(state) & 1) != opposite;
        uint64_t nudged =
            float_to_bits(dtype, float_from_bits(dtype, bits) * (up ? 1 + by : 1 - by));
        nudged = nudged == bits ? next_to(dtype, bits, up) : nudged;
        memcpy((char *)array->data + at, &nudged, bytes);
    }
}

static Setup nudge_setup(const Setup *setup, int nudge) {
    Setup nudged = copy_setup(setup);
    uint64_t state = (uint64_t)nudge / 2 + 1;
    for (uint32_t i = 0; i < nudged.narrays; i++) {
        DType dtype = nudged.array_types[i]->dtype;
        if (dtype_is_float(dtype))
            nudge_array(&nudged.arrays[i], dtype, setup->rounding / 2, nudge & 1, &state);
    }
    return nudged;
}

/* On which guess a function is run, and by one program or several. */
typedef struct Way {
    int guess;
    bool alone;
} Way;

typedef enum RunEnd { RUN_DONE, RUN_TOO_LONG, RUN_WRONG } RunEnd;

/* A persistent function shares the programs among any number of CTAs. */
static RunEnd run(Func *func, const Setup *setup, Way way, uint64_t more, InterpSpent *spent) {
    bool gave_up = false;
    InterpOptions options = {.grid = {way.alone ? 1 : 2, way.alone ? 1 : 2, 1},
                             .ctas = (uint32_t)way.guess + 1,
                             .max_steps = more * MAX_STEPS,
                             .max_work = more * MAX_WORK,
                             .gave_up = &gave_up,
                             .spent = spent,
                             .warnings_fail = true}; /* passes may rely on hints */
    if (interp_run(func, setup->args, setup->arrays, setup->narrays, &options))
        return RUN_DONE;
    return gave_up ? RUN_TOO_LONG : RUN_WRONG;
}

static double tolerance(DType dtype) {
    int bits = dtype_info[dtype].bits;
    return bits == 64 ? 1e-9 : bits == 32 ? 1e-4 : bits == 16 ? 4e-2 : 0.3;
}

/* An array may be of wider numbers than the sums that are stored to it. No pass changes the order
 * in which a wgmma adds up. */
static bool note_sum(Op *op, void *user) {
    double *rounding = user;
    bool adds_up = op_has(op, COMBINES) || op->code == OP_dot;
    for (uint32_t i = 0; i < op->nout && adds_up; i++)
        if (type_is_float(op->out[i].type))
            *rounding = fmax(*rounding, tolerance(op->out[i].type->dtype));
    return true;
}

/* `scale`: of the array's numbers, `rounding`: of the function's sums. Sums in another order differ
 * by what their terms round to, which may be much more than what is left of them. Where terms
 * overflow, the order says whether the sum is infinite, and of which sign, or NaN; where none of
 * the array's numbers comes near overflow, what is infinite was so before it was added up. */
static bool same_element(DType dtype, const void *a, const void *b, double scale, double rounding) {
    uint64_t bits_a = 0, bits_b = 0;
    memcpy(&bits_a, a, (size_t)dtype_bytes(dtype));
    memcpy(&bits_b, b, (size_t)dtype_bytes(dtype));
    if (bits_a == bits_b || !dtype_is_float(dtype))
        return bits_a == bits_b;
    double x = float_from_bits(dtype, bits_a), y = float_from_bits(dtype, bits_b);
    if (isfinite(x) && isfinite(y))
        return fabs(x - y) <= fmax(tolerance(dtype), rounding) * fmax(1, scale);
    bool may_overflow = scale > NEAR_OVERFLOW;
    return may_overflow || x == y || (isnan(x) && !isfinite(y)) || (isnan(y) && !isfinite(x));
}

/* The largest finite number of an array. */
static double scale_of(DType dtype, const InterpArray *array) {
    double largest = 0;
    size_t bytes = (size_t)dtype_bytes(dtype);
    for (size_t at = 0; dtype_is_float(dtype) && at < array->bytes; at += bytes) {
        uint64_t bits = 0;
        memcpy(&bits, (char *)array->data + at, bytes);
        double x = fabs(float_from_bits(dtype, bits));
        largest = isfinite(x) && x > largest ? x : largest;
    }
    return largest;
}

static void print_element(StrBuf *out, DType dtype, const void *element) {
    uint64_t bits = 0;
    memcpy(&bits, element, (size_t)dtype_bytes(dtype));
    if (dtype_is_float(dtype))
        strbuf_printf(out, "%.9g", float_from_bits(dtype, bits));
    else
        strbuf_printf(out, "0x%" PRIx64, bits);
}

static double number_at(DType dtype, const InterpArray *array, size_t at) {
    size_t bytes = (size_t)dtype_bytes(dtype);
    uint64_t bits = 0;
    memcpy(&bits, (char *)array->data + at, bytes);
    if (dtype_is_float(dtype))
        return float_from_bits(dtype, bits);
    unsigned unused = 64 - 8 * (unsigned)bytes;
    return (double)((int64_t)(bits << unused) >> unused);
}

/* What the function stored on each of the nudged inputs, where it ran to its end. */
typedef struct Nudged {
    Setup runs[NUDGES];
    uint32_t count;
} Nudged;

/* Does the element differ by no more than nudged inputs make of it? */
static bool within_nudges(const Nudged *nudged, const Setup *a, const Setup *b, uint32_t array,
                          size_t at) {
    DType dtype = a->array_types[array]->dtype;
    double x = number_at(dtype, &a->arrays[array], at), y = number_at(dtype, &b->arrays[array], at);
    double spread = 0;
    for (uint32_t i = 0; i < nudged->count; i++)
        spread = fmax(spread, fabs(number_at(dtype, &nudged->runs[i].arrays[array], at) - x));
    return fabs(x - y) <= SLACK * spread;
}

/* The place of the first element from `array` and `at` on that is not the same; false if all are.
 */
static bool find_difference(const Setup *a, const Setup *b, const Nudged *nudged, uint32_t *array,
                            size_t *at) {
    for (uint32_t i = 0; i < a->narrays; i++) {
        DType dtype = a->array_types[i]->dtype;
        size_t bytes = (size_t)dtype_bytes(dtype), total = a->arrays[i].bytes;
        if (memcmp(a->arrays[i].data, b->arrays[i].data, total) == 0)
            continue;
        double scale = scale_of(dtype, &a->arrays[i]);
        for (size_t k = 0; k < total; k += bytes) {
            if (same_element(dtype, (char *)a->arrays[i].data + k, (char *)b->arrays[i].data + k,
                             scale, a->rounding) ||
                (nudged && within_nudges(nudged, a, b, i, k)))
                continue;
            *array = i;
            *at = k;
            return true;
        }
    }
    return false;
}

static void print_difference(const Setup *a, const Setup *b, uint32_t array, size_t at,
                             StrBuf *why) {
    DType dtype = a->array_types[array]->dtype;
    strbuf_printf(why, "element %zu of '%.*s' differs: ", at / (size_t)dtype_bytes(dtype),
                  STR_ARG(a->arrays[array].name));
    print_element(why, dtype, (char *)a->arrays[array].data + at);
    strbuf_puts(why, " before, ");
    print_element(why, dtype, (char *)b->arrays[array].data + at);
    strbuf_puts(why, " after");
}

static bool same_parameters(const Func *a, const Func *b) {
    bool same = a->body->nargs == b->body->nargs;
    for (uint32_t i = 0; same && i < a->body->nargs; i++)
        same = a->body->args[i].type == b->body->args[i].type;
    return same;
}

/* `inputs`: what both ran on. */
static bool same_results(Func *before, const Setup *inputs, const Setup *first, const Setup *second,
                         Way way, StrBuf *why) {
    uint32_t array;
    size_t at;
    if (!find_difference(first, second, NULL, &array, &at))
        return true;
    Nudged nudged = {.count = 0};
    for (int i = 0; i < NUDGES && inputs->rounding > 0; i++) {
        nudged.runs[nudged.count] = nudge_setup(inputs, i);
        nudged.count += run(before, &nudged.runs[nudged.count], way, 1, NULL) == RUN_DONE;
    }
    if (!find_difference(first, second, &nudged, &array, &at))
        return true;
    print_difference(first, second, array, at, why);
    return false;
}

/* Elements that the run changed. */
static uint64_t count_changes(const Setup *before, const Setup *after) {
    uint64_t changes = 0;
    for (uint32_t i = 0; i < before->narrays; i++) {
        size_t bytes = (size_t)dtype_bytes(before->array_types[i]->dtype);
        const char *a = before->arrays[i].data, *b = after->arrays[i].data;
        if (memcmp(a, b, before->arrays[i].bytes) == 0)
            continue;
        for (size_t at = 0; at < before->arrays[i].bytes; at += bytes)
            changes += memcmp(a + at, b + at, bytes) != 0;
    }
    return changes;
}

static RunHash finish_hash(const XXH3_state_t *state) {
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    return (RunHash){hash.low64, hash.high64};
}

static void add_arrays(XXH3_state_t *state, const Setup *setup) {
    for (uint32_t i = 0; i < setup->narrays; i++)
        XXH3_128bits_update(state, setup->arrays[i].data, setup->arrays[i].bytes);
}

static RunHash hash_stored(const Setup *setup) {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    add_arrays(&state, setup);
    return finish_hash(&state);
}

static RunHash hash_inputs(const Setup *setup) {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (uint32_t i = 0; i < setup->nparams; i++) {
        const InterpArg *arg = &setup->args[i];
        const uint64_t numbers[] = {arg->is_array, arg->array, (uint64_t)arg->i};
        XXH3_128bits_update(&state, numbers, sizeof numbers);
        XXH3_128bits_update(&state, &arg->f, sizeof arg->f);
    }
    add_arrays(&state, setup);
    return finish_hash(&state);
}

static bool same_hash(RunHash a, RunHash b) {
    return a.low == b.low && a.high == b.high;
}

/* `was`: of the first function, as a second one; `is` becomes that of the second. */
static Equivalence compare_on(Func *before, Func *after, const Setup *inputs, Way way,
                              const KnownRun *was, KnownRun *is, Comparison *out) {
    Setup first = copy_setup(inputs), second = copy_setup(inputs);
    const RunHash hash = hash_inputs(inputs);
    const bool known = was->known && same_hash(was->inputs, hash);
    RunEnd end = known ? RUN_DONE : run(before, &first, way, 1, NULL);
    if (end != RUN_DONE)
        return end == RUN_TOO_LONG ? TOO_LONG : GOES_WRONG;
    InterpSpent spent;
    if (run(after, &second, way, MORE_WORK, &spent) != RUN_DONE) {
        strbuf_puts(&out->why, "only the function after it fails in the interpreter");
        return DIFFERENT;
    }
    *is = (KnownRun){.known = spent.steps <= MAX_STEPS && spent.work <= MAX_WORK,
                     .inputs = hash,
                     .stored = hash_stored(&second),
                     .changes = count_changes(inputs, &second)};
    uint64_t changes = was->changes;
    if (!known || !same_hash(was->stored, is->stored)) {
        if (known)
            run(before, &first, way, 1, NULL);
        if (!same_results(before, inputs, &first, &second, way, &out->why))
            return DIFFERENT;
        changes = count_changes(inputs, &first);
    }
    out->values += changes;
    out->lists++;
    return changes ? EQUIVALENT : STORES_NOTHING;
}

/* The answer to all lists: a difference, else that some agreed, else why the last one said nothing.
 */
static Equivalence joined(Equivalence all, Equivalence one) {
    return all == DIFFERENT || one == DIFFERENT     ? DIFFERENT
           : all == EQUIVALENT || one == EQUIVALENT ? EQUIVALENT
                                                    : one;
}

void pipeline_compare(Func *before, Func *after, uint64_t seed, Comparison *out) {
    Arena *arena = &func_ctx(before)->scratch;
    KnownRuns was = {0}, is = {0};
    if (out->known)
        was = *out->known;
    out->verdict = GOES_WRONG;
    if (!same_parameters(before, after)) {
        strbuf_puts(&out->why, "the parameters differ");
        out->verdict = DIFFERENT;
        return;
    }
    for (int guess = 0; guess < GUESSES && out->verdict != DIFFERENT; guess++) {
        ArenaMark mark = arena_mark(arena);
        Setup inputs = {.arena = arena};
        make_setup(&inputs, before, guess, seed);
        func_walk(before, note_sum, &inputs.rounding);
        Equivalence one = TOO_LONG;
        for (int alone = 0; alone < EQUIVALENCE_WAYS && one == TOO_LONG; alone++)
            one = compare_on(before, after, &inputs, (Way){guess, alone}, &was.runs[guess][alone],
                             &is.runs[guess][alone], out);
        out->verdict = joined(out->verdict, one);
        arena_rewind(arena, mark);
    }
    if (out->known)
        *out->known = is;
}
