/* Linear layouts: which thread and register holds which element of a tile.
 *
 * A layout is a linear map over GF(2) from hardware coordinates (register, lane, warp, block) to
 * the element's index, given by the images ("bases") of the powers of two of each coordinate:
 *
 *     index(register, lane, warp, block) = XOR of the bases whose input bit is set
 *
 * The index is the row-major number of the element, so that, all dimensions being powers of two, it
 * is the concatenation of the dimensions' bits with the last dimension lowest. Hence reshape keeps
 * a layout as it is, expand_dims too, transpose permutes output bits, and a slice or reduction
 * deletes some.
 *
 * A layout of a shared-memory buffer maps an element offset (in coordinate `register`, the only one
 * with bits) to the index the same way; swizzles are just such maps.
 *
 * Layouts are interned in the context: equal layouts have equal pointers. Elements may be held
 * several times (the map need not be injective), never not at all (a distributed layout is
 * surjective). All functions are pure and run in microseconds; the algebra follows section 7 of the
 * linear-layout literature (Zhou et al., "Linear Layouts: Robust Code Generation of Efficient
 * Tensor Computation Using F2"). */
#ifndef TILEC_TYPES_LAYOUT_H
#define TILEC_TYPES_LAYOUT_H
#include "support/str.h"

typedef struct Ctx Ctx;

typedef enum LayoutDim {
    LAYOUT_REG,
    LAYOUT_LANE,
    LAYOUT_WARP,
    LAYOUT_BLOCK,
    LAYOUT_DIMS
} LayoutDim;

enum { LAYOUT_MAX_BASES = 32, LAYOUT_LANE_BITS = 5 };

/* Field order is the order of inputs: register bases first, then lane, warp, block. */
typedef struct Layout {
    uint8_t bits[LAYOUT_DIMS]; /* input bits of each coordinate */
    uint8_t out_bits;          /* log2 of the number of elements */
    uint32_t basis[LAYOUT_MAX_BASES];
} Layout;

/* The interned copy of `layout`; entries of `basis` beyond the bits do not matter. Asserts
 * out_bits <= 31 and the sum of bits <= LAYOUT_MAX_BASES. */
const Layout *layout_get(Ctx *ctx, const Layout *layout);

/* Constructors. `shape` has `rank` powers of two, dimension 0 slowest. */

/* Triton's blocked layout: each dimension of `order` (fastest first) takes size_per_thread
 * registers, then threads_per_warp lanes, then warps; a larger tile repeats in registers, a smaller
 * one is replicated (zero bases). All counts are powers of two; threads_per_warp multiply to 32. */
const Layout *layout_blocked(Ctx *ctx, int rank, const int64_t *shape,
                             const int64_t *size_per_thread, const int64_t *threads_per_warp,
                             const int64_t *warps, const int *order);
/* Everything in registers of every thread: each thread holds the whole tile. */
const Layout *layout_replicated(Ctx *ctx, int out_bits, int warp_bits);

/* A buffer in which the elements lie row by row. */
const Layout *layout_row_major(Ctx *ctx, int out_bits);

/* Shape-changing ops. Each returns the layout of the result given that of the operand. */
const Layout *layout_transpose(Ctx *ctx, const Layout *layout, int rank, const int64_t *shape,
                               const int *permutation);
/* Deletes the index bits in `mask` and closes the gap; register bases that become zero are removed,
 * lane and warp bases stay as zeros (replicated). Slice, reduction, and the operand of a broadcast.
 */
const Layout *layout_drop_bits(Ctx *ctx, const Layout *layout, uint32_t mask);
/* The inverse: `count` index bits from `first` on come in, held by the lowest registers of every
 * thread. */
const Layout *layout_insert_bits(Ctx *ctx, const Layout *layout, int first, int count);
/* The indices of a part, a power of two along each dimension, within the tile that it begins: its
 * layout as a map to those. */
const Layout *layout_of_part(Ctx *ctx, const Layout *layout, int rank, const int64_t *part,
                             const int64_t *whole);
/* The index bits of the whole that tell its parts of that shape from each other. */
uint32_t layout_part_mask(int rank, const int64_t *part, const int64_t *whole);
/* The bits of the register number that lead to another element of the same part, as a mask. */
uint32_t layout_registers_in_part(const Layout *layout, int rank, const int64_t *part,
                                  const int64_t *whole);
/* The index bits of dimension `axis` of a row-major shape, as a mask. */
uint32_t layout_dim_mask(int rank, const int64_t *shape, int axis);
/* join: a new lowest dimension of size 2 held in the lowest register bit; split is its inverse. */
const Layout *layout_join(Ctx *ctx, const Layout *layout);
/* Of either half of a split where the operand lies in `layout`: in each thread it has both of those
 * that it has one of. A lane or warp that told the two apart takes over what the last register told
 * apart, so that threads hold no more elements than before. */
const Layout *layout_halves(Ctx *ctx, const Layout *layout);

/* Algebra on raw maps. */

/* The image of one point of all inputs packed register-lowest. */
uint32_t layout_apply(const Layout *layout, uint32_t reg, uint32_t lane, uint32_t warp,
                      uint32_t block);
int layout_rank(const Layout *layout); /* dimension of the image */
bool layout_is_surjective(const Layout *layout);
bool layout_is_injective(const Layout *layout);
/* Bit i set: input bit i (counted over all inputs, register lowest) only repeats elements that
 * lower inputs hold already. A thread owns its element iff its coordinates are zero in these bits:
 * the mask for stores, atomics and anything that must happen once. */
uint32_t layout_free_bits(const Layout *layout);
/* Registers of a thread that repeat none of its others. */
int layout_owned_registers(const Layout *layout);
/* outer o inner: inner's outputs are outer's inputs (packed). */
const Layout *layout_compose(Ctx *ctx, const Layout *outer, const Layout *inner);
/* The inverse of a bijective map (NULL if it is not one): index to packed inputs, as a layout whose
 * only input coordinate is `register`. */
const Layout *layout_invert(Ctx *ctx, const Layout *layout);
/* low x high: each coordinate takes the bases of `low`, then those of `high` shifted past low's
 * index bits. */
const Layout *layout_product(Ctx *ctx, const Layout *low, const Layout *high);
/* Left division: layout = tile x quotient where `tile` covers the low register (and lane) bases;
 * NULL when it does not divide. Right division: layout = quotient x tile, `tile` being the high
 * bases. */
const Layout *layout_divide_left(Ctx *ctx, const Layout *layout, const Layout *tile);
const Layout *layout_divide_right(Ctx *ctx, const Layout *layout, const Layout *tile);

/* Input bits of all coordinates together, and the number of those before `dim`. */
static inline int layout_in_bits(const Layout *layout) {
    return layout->bits[LAYOUT_REG] + layout->bits[LAYOUT_LANE] + layout->bits[LAYOUT_WARP] +
           layout->bits[LAYOUT_BLOCK];
}
static inline int layout_first_bit(const uint8_t bits[LAYOUT_DIMS], LayoutDim dim) {
    int first = 0;
    for (int d = 0; d < (int)dim; d++)
        first += bits[d];
    return first;
}
/* The bases of one coordinate. */
static inline const uint32_t *layout_bases(const Layout *layout, LayoutDim dim) {
    return layout->basis + layout_first_bit(layout->bits, dim);
}

/* For each destination coordinate, a source coordinate that holds the same element: the map C with
 * src(C(c)) == dst(c), as bases over the packed source coordinate. Identity is preferred, so
 * that no lane or warp is crossed needlessly; a register may still depend on the lane or warp
 * (selection). */
typedef struct LayoutMove {
    uint8_t dst_bits[LAYOUT_DIMS], src_bits[LAYOUT_DIMS];
    uint32_t basis[LAYOUT_MAX_BASES]; /* one per destination input bit */
} LayoutMove;
LayoutMove layout_move(const Layout *dst, const Layout *src);

/* What a conversion needs, cheapest first. */
typedef enum LayoutConversion {
    CONVERT_NOTHING,   /* same registers of the same threads */
    CONVERT_REGISTERS, /* renaming, selection or copying of registers within each thread */
    CONVERT_SHUFFLES,  /* within warps */
    CONVERT_SHARED,    /* crosses warps: through shared memory */
    CONVERT_CLUSTER    /* crosses blocks of a cluster */
} LayoutConversion;
LayoutConversion layout_classify(const Layout *dst, const Layout *src);

/* Elements (power of two, at most `limit`) that a thread holds in consecutive low registers and
 * that are consecutive along the dimension whose lowest index bit is `first_bit`: the widest vector
 * access the layout allows there. */
int layout_run(const Layout *layout, int first_bit, int limit);
/* The same along the index itself. */
static inline int layout_vector(const Layout *layout, int limit) {
    return layout_run(layout, 0, limit);
}

/* Shared memory. `shared` maps element offsets to indices (bijective), `element_bytes` in 1..16. */

/* The shared layout with the fewest bank conflicts for storing in `src` and loading in `dst` with
 * the widest vectors both allow. `width` elements of the lowest registers of `src` are to be stored
 * by one access at any price, if that is possible at all; 1: there is no such wish. */
const Layout *layout_shared_for(Ctx *ctx, const Layout *src, const Layout *dst, int element_bytes,
                                int width);
/* More than any cost: of a layout that lacks the wanted width. */
enum { LAYOUT_TOO_NARROW = 1 << 24 };
/* How a thread with registers `dist` walks `shared`: 2^access_bits vectors of 2^element_bits
 * elements. Element e of vector a is register XOR(reg[i] : bit i of (e | a << element_bits) set),
 * at offset offsets(register, lane, warp); offsets of a vector's element 0 are multiples of its
 * length. The remaining 2^repeat_bits registers (reg[element_bits + access_bits + j]) repeat these
 * elements. */
typedef struct LayoutAccess {
    const Layout *offsets; /* coordinates of dist to element offsets: inverse(shared) o dist */
    uint8_t element_bits, access_bits, repeat_bits;
    uint32_t reg[LAYOUT_MAX_BASES];
} LayoutAccess;
LayoutAccess layout_shared_access(Ctx *ctx, const Layout *dist, const Layout *shared,
                                  int element_bytes);
/* Elements per access when a thread reads or writes its registers of `dist` in `shared`. */
int layout_shared_vector(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes);
/* Issue slots and wavefronts of moving all registers of `dist` once. */
int layout_shared_cost(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes);
/* Wavefronts one warp-wide access of that width needs over the minimum: 1 is conflict-free. */
int layout_bank_conflicts(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes);

/* Matrix loads (ldmatrix): a warp reads up to four matrices of 8 rows of 16 bytes, whose addresses
 * the lanes give; lane l receives word l % 4 of row l / 4 of each, or with `transposed`, for
 * elements of 2 bytes, elements l / 4 of rows 2 (l % 4) and 2 (l % 4) + 1. */
typedef struct LayoutMatrices {
    /* Where the lanes point, in elements: lanes 0 to 2 choose the row, lanes 3 and 4 the matrix;
     * registers are the elements of a row, then the loads. */
    const Layout *offsets;
    bool transposed;
    /* Register bits of the tile, from the lowest: elements of a 32-bit word, matrices of one load,
     * loads. */
    uint8_t word_bits, matrix_bits, load_bits;
} LayoutMatrices;
/* Can a tile in `dist` be read from `shared` so? Registers of `dist` are then used in their order.
 */
bool layout_matrices(Ctx *ctx, const Layout *dist, const Layout *shared, int element_bytes,
                     LayoutMatrices *out);
/* The shared layout through which a tile goes from `src` to `dst` at least cost, by plain accesses
 * or matrix loads; `width` as in layout_shared_for. */
const Layout *layout_shared_exchange(Ctx *ctx, const Layout *src, const Layout *dst,
                                     int element_bytes, int width);
/* The largest number of elements, at most `width`, that one asynchronous copy may move from `width`
 * consecutive addresses, held by the lowest registers of `dist`, to consecutive offsets. */
int layout_async_width(Ctx *ctx, const Layout *dist, const Layout *shared, int width);

/* {reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256]}: parsed back by the IR parser. */
void layout_print(const Layout *layout, StrBuf *out);
#endif
