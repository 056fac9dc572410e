/* Names of PTX and what they stand for: scopes, labels, constants, addresses of variables. */
#include "sim/parse/parser.h"

static uint32_t bucket_of(Str name) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.ptr[i]) * 16777619u;
    return hash % NAME_BUCKETS;
}

static Name *find(const Parser *parser, Str name, bool numbered) {
    for (Name *at = parser->buckets[bucket_of(name)]; at; at = at->next)
        if ((at->kind == NAME_REGS) == numbered && str_eq(at->text, name))
            return at;
    return NULL;
}

Name *ptx_find(const Parser *parser, Str name) {
    return find(parser, name, false);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The number behind the first `prefix` characters, without leading zeros; false when there is none.
 */
static bool number_behind(Str name, size_t prefix, uint32_t *number) {
    size_t digits = name.len - prefix;
    if (!digits || digits > 9 || (digits > 1 && name.ptr[prefix] == '0'))
        return false;
    *number = 0;
    for (size_t i = prefix; i < name.len; i++) {
        if (!is_digit(name.ptr[i]))
            return false;
        *number = *number * 10 + (uint32_t)(name.ptr[i] - '0');
    }
    return true;
}

/* A prefix may end with digits itself; the longest number is tried first. */
const Name *ptx_find_numbered(const Parser *parser, Str name, uint32_t *number) {
    size_t prefix = name.len;
    while (prefix && is_digit(name.ptr[prefix - 1]))
        prefix--;
    for (; prefix < name.len; prefix++) {
        const Name *found = find(parser, (Str){name.ptr, prefix}, true);
        if (found && number_behind(name, prefix, number))
            return *number < found->count ? found : NULL;
    }
    return NULL;
}

static Name *add_name(Parser *parser, Str name) {
    Name *entry = ARENA_NEW(parser->arena, Name);
    uint32_t bucket = bucket_of(name);
    *entry = (Name){.text = name,
                    .depth = parser->depth,
                    .pc = NO_PC,
                    .next = parser->buckets[bucket],
                    .older = parser->scopes[parser->depth]};
    parser->buckets[bucket] = entry;
    parser->scopes[parser->depth] = entry;
    return entry;
}

static Name *report_taken(Parser *parser, Str name, uint32_t lo, uint32_t hi) {
    ptx_error(parser, lo, hi, ptx_redefined, STR_ARG(name));
    return NULL;
}

Name *ptx_declare(Parser *parser, Str name, uint32_t lo, uint32_t hi) {
    uint32_t number;
    const Name *old = ptx_find(parser, name), *all = ptx_find_numbered(parser, name, &number);
    if ((old && old->depth == parser->depth) || (all && all->depth == parser->depth))
        return report_taken(parser, name, lo, hi);
    return add_name(parser, name);
}

Name *ptx_declare_numbered(Parser *parser, Str name, uint32_t count, uint32_t lo, uint32_t hi) {
    const Name *old = find(parser, name, true);
    if (old && old->depth == parser->depth)
        return report_taken(parser, name, lo, hi);
    for (const Name *at = parser->scopes[parser->depth]; at; at = at->older) {
        uint32_t number;
        if (at->kind != NAME_REGS && at->text.len > name.len &&
            !memcmp(at->text.ptr, name.ptr, name.len) &&
            number_behind(at->text, name.len, &number) && number < count)
            return report_taken(parser, at->text, lo, hi);
    }
    Name *entry = add_name(parser, name);
    entry->kind = NAME_REGS;
    entry->count = count;
    return entry;
}

bool ptx_open_scope(Parser *parser) {
    if (parser->depth + 1 == MAX_SCOPES)
        return ptx_error(parser, parser->token.lo, parser->token.hi, ptx_too_deep, MAX_SCOPES);
    parser->depth++;
    parser->scopes[parser->depth] = NULL;
    parser->first_use[parser->depth] = parser->uses.len;
    return true;
}

void ptx_resolve_labels(Parser *parser) {
    size_t kept = parser->first_use[parser->depth];
    for (size_t i = kept; i < parser->uses.len; i++) {
        LabelUse use = parser->uses.data[i];
        Name *name = ptx_find(parser, use.name);
        if (!name || name->kind != NAME_LABEL || name->depth != parser->depth)
            parser->uses.data[kept++] = use;
        else if (use.where)
            *use.where = name->pc;
        else
            parser->module->insns.data[use.insn].target = name->pc;
    }
    parser->uses.len = kept;
}

/* A function's own name is declared outside while its results are in scope: the names of a bucket
 * need not go in the order they came. */
static void unlink_name(Parser *parser, const Name *name) {
    Name **at = &parser->buckets[bucket_of(name->text)];
    while (*at != name)
        at = &(*at)->next;
    *at = name->next;
}

void ptx_close_scope(Parser *parser) {
    ptx_resolve_labels(parser);
    for (Name *name = parser->scopes[parser->depth]; name; name = name->older)
        unlink_name(parser, name);
    parser->depth--;
}

RegRef ptx_constant(Parser *parser, uint64_t value) {
    uint32_t bucket = (uint32_t)((value * UINT64_C(0x9E3779B97F4A7C15)) >> 40) % NAME_BUCKETS;
    for (uint32_t i = parser->constant_heads[bucket]; i; i = parser->constant_next.data[i - 1])
        if (parser->module->constants.data[i - 1] == value)
            return REG_IN(BANK_CONST, i - 1);
    vec_push(parser->arena, &parser->module->constants, value);
    vec_push(parser->arena, &parser->constant_next, parser->constant_heads[bucket]);
    parser->constant_heads[bucket] = (uint32_t)parser->module->constants.len;
    return REG_IN(BANK_CONST, parser->module->constants.len - 1);
}

/* A new register of the function that is read. */
static RegRef new_reg(Parser *parser) {
    return REG_IN(BANK_FRAME, parser->func->regs++);
}

RegRef ptx_address_of(Parser *parser, const Variable *variable, int64_t offset) {
    uint64_t address = variable->address + (uint64_t)offset;
    if (variable->in_frame) {
        vec_for_each (at, &parser->func->frame_addresses)
            if (at->offset == address)
                return REG_IN(BANK_FRAME, at->reg);
        uint32_t reg = new_reg(parser);
        vec_push(parser->arena, &parser->func->frame_addresses, (FrameAddress){reg, address});
        return reg;
    }
    if (variable->space == SPACE_global || variable->space == SPACE_const)
        return ptx_constant(parser, sim_image_base(parser->module) + address);
    if (!variable->is_extern)
        return ptx_constant(parser, address);
    /* Where dynamic shared memory begins is known at the end of the module. */
    vec_push(parser->arena, &parser->module->constants, address);
    vec_push(parser->arena, &parser->constant_next, 0);
    uint32_t index = (uint32_t)parser->module->constants.len - 1;
    vec_push(parser->arena, &parser->module->dynamic_constants, index);
    return REG_IN(BANK_CONST, index);
}
