/* Names of PTX and what they stand for: scopes, labels, constants, addresses of variables. */
#include "sim/parser.h"

static uint32_t bucket_of(Str name) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.ptr[i]) * 16777619u;
    return hash % NAME_BUCKETS;
}

static Name *find_exact(const Parser *parser, Str name) {
    for (Name *at = parser->buckets[bucket_of(name)]; at; at = at->next)
        if (str_eq(at->text, name))
            return at;
    return NULL;
}

Name *ptx_find(const Parser *parser, Str name) {
    return find_exact(parser, name);
}

Name *ptx_declare(Parser *parser, Str name, uint32_t lo, uint32_t hi) {
    Name *old = find_exact(parser, name);
    if (old && old->depth == parser->depth) {
        ptx_error(parser, lo, hi, ptx_redefined, STR_ARG(name));
        return NULL;
    }
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
        Name *name = find_exact(parser, use.name);
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

RegRef ptx_new_reg(Parser *parser) {
    return REG_IN(BANK_FRAME, parser->func->regs++);
}

RegRef ptx_address_of(Parser *parser, const Variable *variable, int64_t offset) {
    uint64_t address = variable->address + (uint64_t)offset;
    if (variable->in_frame) {
        vec_for_each (at, &parser->func->frame_addresses)
            if (at->offset == address)
                return REG_IN(BANK_FRAME, at->reg);
        uint32_t reg = ptx_new_reg(parser);
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
