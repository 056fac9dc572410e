/* What every pass promises, checked:
 *
 * - the module verifies after it;
 * - it answers true if and only if the printed function changed;
 * - the function has what the pass ensures, and what it had and the pass does not clear;
 * - what is printed reads back, and prints the same again;
 * - on generated arguments the function stores what it stored before (equivalence.h).
 *
 * The last two need modules of their own; they live in a context of their own, so that the
 * compilation's arena and diagnostics see nothing of them. */
#include "passes/contract/check.h"
#include "passes/contract/equivalence.h"

enum { EQUIVALENCE_SEED = 1 };

static Str print_module(const Module *module, Arena *arena) {
    StrBuf text = strbuf(arena);
    module_print(module, &(PrintOptions){0}, &text);
    return strbuf_str(&text);
}

/* The first pass of the table with the property among those that it ensures, or else clears. */
static const PassInfo *first_pass(int property, bool ensures) {
    for (int i = 0; i < PASS_COUNT; i++)
        if ((ensures ? pass_info[i].ensures : pass_info[i].clears) >> property & 1)
            return &pass_info[i];
    return NULL;
}

bool check_requirements(Func *func, PassId pass, PropertySet *has) {
    Ctx *ctx = func_ctx(func);
    const PassInfo *info = &pass_info[pass];
    const Op *where;
    int missing = property_missing(func, (PropertySet)(info->requires & ~*has), &where);
    *has = (PropertySet)(*has | info->requires);
    if (missing == PROPERTY_COUNT)
        return true;
    Span span = where ? where->span : func->span;
    const char *needed = property_info[missing].needed;
    const PassInfo *giver = first_pass(missing, true), *taker = first_pass(missing, false);
    if (giver)
        return ctx_diag(ctx, span, pass_needs, info->name, needed, giver->name);
    if (taker)
        return ctx_diag(ctx, span, pass_comes_early, info->name, needed, taker->name);
    return ctx_diag(ctx, span, pass_needs_given, info->name, needed);
}

PassCheck check_begin(Func *func, PropertySet had, KeptRuns *kept) {
    return (PassCheck){print_module(func->module, &func_ctx(func)->arena), had, kept};
}

static Func *find_func(Module *module, Str name) {
    Func *func = module->funcs;
    while (func && !str_eq(func->name, name))
        func = func->next;
    return func;
}

static bool broke(Func *func, PassId pass, const char *what) {
    return ctx_diag(func_ctx(func), func->span, pass_contract, pass_info[pass].name, what);
}

/* The first line of `text` that is not in `other` at the same place. */
static Str first_difference(Str text, Str other) {
    size_t at = 0, line = 0;
    while (at < text.len && at < other.len && text.ptr[at] == other.ptr[at])
        if (text.ptr[at++] == '\n')
            line = at;
    size_t end = line;
    while (end < text.len && text.ptr[end] != '\n')
        end++;
    return (Str){text.ptr + line, end - line};
}

/* What the pass ensures, and what the function had and it does not clear. */
static bool check_properties(Func *func, PassId pass, PropertySet had) {
    const Op *where;
    int missing = property_missing(func, pass_leaves(pass, had), &where);
    if (missing == PROPERTY_COUNT)
        return true;
    bool ensured = pass_info[pass].ensures >> missing & 1;
    broke(func, pass, ensured ? "did not give what it ensures" : "broke what others ensured");
    diag_note(&func_ctx(func)->diags, where ? where->span : func->span, "%s is missing: %s",
              property_info[missing].name, property_info[missing].meaning);
    return false;
}

static bool check_text(Ctx *sandbox, Func *func, PassId pass, Str after, Module **module) {
    *module = module_parse(sandbox, source_add(&sandbox->sources, STR("after.tir"), after));
    if (!*module) {
        const Diagnostic *first = sandbox->diags.first;
        broke(func, pass, "left IR whose text does not read back");
        diag_note(&func_ctx(func)->diags, func->span, "%s",
                  first ? first->text : "no reason given");
        return false;
    }
    Str again = print_module(*module, &sandbox->arena);
    if (str_eq(after, again))
        return true;
    broke(func, pass, "left IR whose text changes when it is read back");
    diag_note(&func_ctx(func)->diags, func->span, "printed: %.*s",
              STR_ARG(first_difference(after, again)));
    diag_note(&func_ctx(func)->diags, func->span, "read back: %.*s",
              STR_ARG(first_difference(again, after)));
    return false;
}

/* What is kept of runs is that of `text`, or nothing. A check that ends early keeps nothing. */
static void take_kept(KeptRuns *kept, Str text, Comparison *comparison) {
    if (!kept)
        return;
    if (!str_eq(kept->text, text))
        kept->runs = (KnownRuns){0};
    kept->text = (Str){0};
    comparison->known = &kept->runs;
}

static bool check_meaning(Ctx *sandbox, Func *func, PassId pass, const PassCheck *check, Str text,
                          Module *after, PassContract *contract) {
    Module *old =
        module_parse(sandbox, source_add(&sandbox->sources, STR("before.tir"), check->before));
    Func *a = old ? find_func(old, func->name) : NULL, *b = find_func(after, func->name);
    if (!a || !b)
        return true; /* the text before was checked, or reported, when the pass before ended */
    Comparison comparison = {.why = strbuf(&sandbox->arena)};
    take_kept(check->kept, check->before, &comparison);
    pipeline_compare(a, b, EQUIVALENCE_SEED, &comparison);
    if (check->kept)
        check->kept->text = text;
    contract->verdicts[comparison.verdict]++;
    contract->lists += comparison.lists;
    contract->values += comparison.values;
    if (comparison.verdict != DIFFERENT)
        return true;
    broke(func, pass, "changed what the function computes");
    diag_note(&func_ctx(func)->diags, func->span, "%.*s", STR_ARG(strbuf_str(&comparison.why)));
    return false;
}

/* A sandbox that runs out of memory, or is cancelled, checks nothing more: the compilation goes on
 * to where it finds that out for itself, and the function counts as too long. */
static bool check_in_sandbox(Func *func, PassId pass, const PassCheck *check, Str after,
                             bool changed, PassContract *contract) {
    Ctx *sandbox = ctx_create_with(func_ctx(func)->arena.allocator);
    Module *module = NULL;
    if (!sandbox || setjmp(sandbox->oom)) {
        contract->verdicts[TOO_LONG] += changed;
        ctx_destroy(sandbox);
        return true;
    }
    ctx_cancel_with(sandbox, func_ctx(func)->arena.cancel);
    bool ok = check_text(sandbox, func, pass, after, &module);
    if (ok && changed)
        ok = check_meaning(sandbox, func, pass, check, after, module, contract);
    ctx_destroy(sandbox);
    return ok;
}

bool check_end(const PassCheck *check, Func *func, PassId pass, bool changed,
               PassContract *contract) {
    Ctx *ctx = func_ctx(func);
    Str after = print_module(func->module, &ctx->arena);
    bool differs = !str_eq(check->before, after);
    contract->runs++;
    contract->changed += changed;
    bool ok = module_verify(func->module) || broke(func, pass, "left invalid IR");
    if (ok && changed != differs)
        ok = broke(func, pass,
                   differs ? "changed the IR and said that it did not"
                           : "said that it changed the IR and did not");
    if (ok)
        ok = check_properties(func, pass, check->had);
    if (ok)
        ok = check_in_sandbox(func, pass, check, after, changed, contract);
    return ok;
}

static const char *const verdict_text[EQUIVALENCE_COUNT] = {
#define EQUIVALENCE(id, text) text,
    EQUIVALENCES(EQUIVALENCE)
#undef EQUIVALENCE
};

void contracts_print(const PassContract *contracts, StrBuf *out) {
    strbuf_puts(out, "contract         runs changed argument lists     values");
    for (int verdict = 0; verdict < EQUIVALENCE_COUNT; verdict++)
        strbuf_printf(out, "  %s", verdict_text[verdict]);
    strbuf_puts(out, "\n");
    for (int pass = 0; pass < PASS_COUNT; pass++) {
        const PassContract *contract = &contracts[pass];
        if (!contract->runs)
            continue;
        strbuf_printf(out, "%-16s %4u %7u %14u %10" PRIu64, pass_info[pass].name, contract->runs,
                      contract->changed, contract->lists, contract->values);
        for (int verdict = 0; verdict < EQUIVALENCE_COUNT; verdict++)
            strbuf_printf(out, "  %*u", (int)strlen(verdict_text[verdict]),
                          contract->verdicts[verdict]);
        strbuf_puts(out, "\n");
    }
}

void contracts_json(const PassContract *contracts, StrBuf *out) {
    const char *separator = "";
    strbuf_putc(out, '[');
    for (int pass = 0; pass < PASS_COUNT; pass++) {
        const PassContract *contract = &contracts[pass];
        if (!contract->runs)
            continue;
        strbuf_printf(out,
                      "%s{\"pass\": \"%s\", \"runs\": %u, \"changed\": %u, \"argument_lists\": %u, "
                      "\"values\": %" PRIu64,
                      separator, pass_info[pass].name, contract->runs, contract->changed,
                      contract->lists, contract->values);
        for (int verdict = 0; verdict < EQUIVALENCE_COUNT; verdict++)
            strbuf_printf(out, ", \"%s\": %u", verdict_text[verdict], contract->verdicts[verdict]);
        strbuf_putc(out, '}');
        separator = ", ";
    }
    strbuf_putc(out, ']');
}
