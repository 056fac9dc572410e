#include "codegen/memory/shared_access.h"
#include "codegen/memory/shared_pointer.h"

static uint32_t registers_for(const Layout *map, uint32_t offset, bool *found) {
    for (uint32_t reg = 0; reg < 1u << map->bits[LAYOUT_REG]; reg++)
        if (layout_reg_image(map, reg) == offset) {
            *found = true;
            return reg;
        }
    return 0;
}

SharedAccess cg_shared_access(Cg *cg, const Layout *dist, const Layout *buffer, int bytes,
                              uint32_t first) {
    const Layout *offsets = layout_compose(cg->ctx, layout_invert(cg->ctx, buffer), dist);
    SharedAccess access = {.plan = cg_plan(cg, offsets), .width = 1};
    uint32_t lead[5] = {0};
    int bits = 0;
    while ((2 << bits) * bytes <= 16 && bits < 4) {
        bool found = false;
        lead[bits] = registers_for(offsets, 1u << bits, &found);
        if (!found || ((access.plan->thread_bits | first) >> bits & 1))
            break;
        bits++;
    }
    access.width = 1u << bits;
    uint32_t *order = ARENA_ARRAY(cg->arena, uint32_t, access.plan->count);
    for (uint32_t reg = 0; reg < access.plan->count; reg++) {
        uint32_t low = layout_reg_image(offsets, reg) & (access.width - 1);
        if (access.plan->rep[reg] != reg || low)
            continue;
        for (uint32_t i = 0; i < access.width; i++) {
            uint32_t member = reg;
            for (int bit = 0; bit < bits; bit++)
                member ^= i >> bit & 1 ? lead[bit] : 0;
            order[access.count++] = access.plan->rep[member];
        }
    }
    access.order = order;
    return access;
}

/* Is each element in a register of its own, with those of its word next to it? */
static bool has_whole_words(const WordLoad *load, uint32_t registers) {
    const SharedAccess *access = &load->access;
    if (access->count != registers || access->width % load->per_word)
        return false;
    for (uint32_t i = 0; i < access->count; i++)
        if (access->order[i] != access->order[i - i % load->per_word] + i % load->per_word ||
            access->order[i] % load->per_word != i % load->per_word)
            return false;
    return true;
}

bool cg_find_word_load(Cg *cg, const Op *op, WordLoad *load) {
    const Type *type = op->out[0].type, *buffer = op_in(op, 0)->type;
    int bytes = type_element_bytes(type);
    if (type->kind != TYPE_NUMBER || type->dtype == DT_I1 || bytes > 4)
        return false;
    LoadedPart part = cg_loaded_part(cg, op);
    load->first = part.first;
    load->per_word = 4 / (uint32_t)bytes;
    load->access = cg_shared_access(cg, part.layout, buffer->layout, bytes, part.first);
    return has_whole_words(load, 1u << part.layout->bits[LAYOUT_REG]);
}

uint32_t cg_word_load_image(const WordLoad *load, uint32_t i) {
    return layout_reg_image(load->access.plan->layout, load->access.order[i]) ^ load->first;
}
