/* Conversions between layouts within warps, by shuffles: who asks whom for what, and what it costs.
 *
 * Split by parts of the source coordinate, the map of layout_move is, for destination register r
 * and thread t (warps are not crossed):
 *
 *     source register = Rr(r) ^ Rt(t)      source lane = Lr(r) ^ Lt(t)
 *
 * A shuffle delivers one register of the source lane, the same for whoever asks. So in round j lane
 * l asks for its register j ^ A(l), with A linear and chosen such that the source lane of round j
 * determines the source register: the sender then permutes its registers by a linear function of
 * its lane before the rounds, and the receiver undoes A after them. */
#ifndef TILEC_TYPES_LANE_MOVE_H
#define TILEC_TYPES_LANE_MOVE_H
#include "types/type.h"

typedef struct LaneMove {
    int dst_regs, threads; /* bits of the destination's registers; lanes and warps */
    int src_regs;          /* bits of the source's registers */
    uint32_t reg_of_reg[LAYOUT_MAX_BASES], lane_of_reg[LAYOUT_MAX_BASES];
    uint32_t reg_of_thread[LAYOUT_MAX_BASES], lane_of_thread[LAYOUT_MAX_BASES];
} LaneMove;
LaneMove lane_move(const Layout *dst, const Layout *src);

/* The linear map with these bases. */
uint32_t lane_move_apply(const uint32_t *basis, uint32_t x);

/* Chooses A, given by one register bit per lane bit, and what each thread sends. False if there is
 * no A. Both arrays have LAYOUT_MAX_BASES elements. */
bool lane_move_rounds(const LaneMove *move, uint32_t *a, uint32_t *sent);

/* Registers of elements of this type that travel together as one word: 2^n of them, which stay
 * neighbours in order. rep[r] is the first register that holds what r holds; NULL: r itself. */
int lane_move_word_bits(const LaneMove *move, const Type *type, const uint32_t *rep);
/* The move of words of 2^n registers. */
LaneMove lane_move_of_words(const LaneMove *move, int n);

/* Of a thread, in words of up to 32 bits. */
typedef struct LaneMoveCost {
    uint64_t
        words; /* of the source and of the destination, together, as shared memory moves them */
    uint64_t shuffles; /* instructions */
    uint64_t selects;
} LaneMoveCost;
LaneMoveCost lane_move_cost(const Type *type, const Layout *dst, const Layout *src);

/* A reduction across lanes in `steps` steps, of which a thread has terms of several results, of
 * `words` words each; combining two takes `ops` instructions. */
typedef struct LaneReduction {
    uint32_t results, steps, words, ops;
} LaneReduction;
/* Steps in which lanes share results out, half of what a lane has for half of what its partner has;
 * each result then comes from the lane that has it. 0: butterflies, which shuffle all results in
 * all steps, cost less, or not much more, and wait for one shuffle less. */
uint32_t lane_shared_steps(const LaneReduction *r);
/* Shuffles and combinations of results that a thread executes, with as many steps shared. */
typedef struct LaneReductionWork {
    uint32_t shuffles, combinations;
} LaneReductionWork;
LaneReductionWork lane_reduction_work(const LaneReduction *r, uint32_t shared);
#endif
