/* Operands of wgmma in shared memory: checking their descriptors, marking what is read, reading
 * numbers. */
#include "sim/check/findings.h"
#include "sim/check/races.h"
#include "sim/exec/matrix.h"
#include "sim/exec/memory.h"
#include "sim/exec/wgmma.h"
#include "sim/exec/wgmma_descriptor.h"
#include "sim/state/program.h"
#include "sim/state/warpgroup.h"

/* One operand as a warp sees it: all of B, or the 16 rows of A that are its own. */
typedef struct Tile {
    WgmmaDescriptor descriptor;
    Type type;
    bool is_b, k_major, negate;
    unsigned first, count; /* rows of A or columns of B */
    unsigned depth;        /* elements along k */
} Tile;

static bool flag_operand(const Insn *insn, unsigned index) {
    return insn->operand[index].kind == OPERAND_NUMBER && insn->operand[index].offset != 0;
}

static bool negates(const Insn *insn, unsigned index) {
    return insn->operand[index].kind == OPERAND_NUMBER && insn->operand[index].offset < 0;
}

static Tile tile_a(const Warp *warp, const WgmmaOp *op) {
    return (Tile){.descriptor = wgmma_descriptor(op->a),
                  .type = (Type)op->insn->type[1],
                  .k_major = !flag_operand(op->insn, 6),
                  .negate = negates(op->insn, 4),
                  .first = warp->index % WARPGROUP * MATRIX_ROWS,
                  .count = MATRIX_ROWS,
                  .depth = wgmma_depth(op->insn)};
}

/* With A in registers there is one immediate less: that of B comes first. */
static Tile tile_b(const WgmmaOp *op) {
    return (Tile){.descriptor = wgmma_descriptor(op->b),
                  .type = (Type)op->insn->type[2],
                  .is_b = true,
                  .k_major = !flag_operand(op->insn, wgmma_a_in_registers(op->insn) ? 6 : 7),
                  .negate = negates(op->insn, 5),
                  .count = wgmma_columns(op->insn),
                  .depth = wgmma_depth(op->insn)};
}

/* The lines of a tile and the pieces of 16 bytes of each. */
typedef struct Lines {
    unsigned first, end, first_piece, end_piece;
} Lines;

static Lines lines_of(const Tile *tile) {
    unsigned per = 128 / matrix_element_bits(tile->type), end = tile->first + tile->count;
    if (tile->k_major)
        return (Lines){tile->first, end, 0, tile->depth / per};
    return (Lines){0, tile->depth, tile->first / per, end / per};
}

#define FOR_PIECES(tile, lines, line, piece)                                                       \
    for (unsigned line = (lines).first; line < (lines).end; line++)                                \
        for (unsigned piece = (lines).first_piece; piece < (lines).end_piece; piece++)

static const char *tile_name(const Tile *tile) {
    return tile->is_b ? "B" : "A";
}

static bool check_descriptor(Warp *warp, const WgmmaOp *op, const Tile *tile, uint64_t bits) {
    const WgmmaDescriptor *descriptor = &tile->descriptor;
    if (wgmma_reserved_bits(bits)) {
        report(warp, op->insn, 0, sim_descriptor_bits, bits, tile_name(tile),
               wgmma_reserved_bits(bits));
        return false;
    }
    if (wgmma_phase(descriptor))
        report(warp, op->insn, 0, sim_descriptor_phase, tile_name(tile), descriptor->start,
               wgmma_pattern(descriptor), descriptor->span, descriptor->base_offset);
    return true;
}

/* The bytes of all pieces exist, and were written before. What is noted is the warpgroup's: of B
 * once. */
static bool take_tile(Warp *warp, const WgmmaOp *op, const Tile *tile, uint64_t bits,
                      uint32_t reader) {
    const Lines lines = lines_of(tile);
    bool first = !tile->is_b || warp->index % WARPGROUP == 0;
    if (!check_descriptor(warp, op, tile, bits))
        return false;
    FOR_PIECES(tile, lines, line, piece) {
        Target target;
        uint32_t address = wgmma_piece(&tile->descriptor, tile->k_major, line, piece);
        if (!memory_find_shared(warp, op->insn, 0, warp->cta, address, 16, ACCESS_READ, &target))
            return false;
        race_matrix_read(warp, op->insn, address, 16);
        if (first)
            race_matrix_note(warp->cta, op->insn, reader, address, 16, op->number);
    }
    return true;
}

bool wgmma_take_operands(Warp *warp, const WgmmaOp *op, uint32_t reader) {
    const Tile b = tile_b(op);
    bool found = take_tile(warp, op, &b, op->b, reader);
    if (!wgmma_a_in_registers(op->insn)) {
        const Tile a = tile_a(warp, op);
        found = take_tile(warp, op, &a, op->a, reader) && found;
    }
    return found;
}

/* The numbers of a piece lie `step` apart in the block. */
static void read_piece(const Tile *tile, const uint8_t *bytes, double *numbers, size_t step) {
    unsigned size = matrix_element_bits(tile->type) / 8;
    for (unsigned i = 0; i < 16 / size; i++) {
        uint32_t bits = 0;
        memcpy(&bits, bytes + i * size, size);
        double value = matrix_decode(tile->type, bits);
        numbers[i * step] = tile->negate ? -value : value;
    }
}

static void read_tile(const Cta *cta, const Tile *tile, const MatrixKind *kind, double *numbers,
                      bool *known) {
    const Lines lines = lines_of(tile);
    const unsigned per = 128 / matrix_element_bits(tile->type);
    const size_t along_k = tile->is_b ? kind->columns : 1, across = tile->is_b ? 1 : kind->depth;
    memset(known, true, tile->count);
    FOR_PIECES(tile, lines, line, piece) {
        uint32_t address = wgmma_piece(&tile->descriptor, tile->k_major, line, piece);
        unsigned other = (tile->k_major ? line : piece * per) - tile->first;
        unsigned k = tile->k_major ? piece * per : line;
        read_piece(tile, cta->shared + address, numbers + k * along_k + other * across,
                   tile->k_major ? along_k : across);
        for (unsigned i = 0; i < 16; i++)
            if (cta->shared_def[address + i] != BYTE_DEFINED)
                known[tile->k_major ? other : other + i * per / 16] = false;
    }
}

void wgmma_read_operands(Warp *warp, const WgmmaOp *op, MatrixBlock *block) {
    const Tile b = tile_b(op);
    read_tile(warp->cta, &b, &block->kind, block->b, block->b_known);
    if (wgmma_a_in_registers(op->insn)) {
        fragment_read_a(warp, &op->insn->operand[1], negates(op->insn, 4), block);
        return;
    }
    const Tile a = tile_a(warp, op);
    read_tile(warp->cta, &a, &block->kind, block->a, block->a_known);
}
