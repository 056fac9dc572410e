/* Which bits of a result are known when some bits of its operands are undefined. */
#ifndef TILEC_SIM_EXEC_KNOWN_H
#define TILEC_SIM_EXEC_KNOWN_H
#include "sim/parse/module.h"
#include "sim/state/reg.h"

/* Bits of which those set in `known` are; the others may be anything. */
typedef struct Bits {
    uint64_t value, known;
} Bits;

static inline Bits bits_of(const Reg *reg, uint32_t lane) {
    return (Bits){reg->v[lane], reg->def[lane]};
}

/* What is known of `a & b` ('a'), `a | b` ('o'), `a ^ b` ('x'), `~a` ('n'). */
uint64_t known_logic(char op, Bits a, Bits b);
/* Whether the comparison comes out as it does whatever the bits that are not known are. */
bool known_compare(Word compare, Type type, bool ftz, Bits a, Bits b);
/* What is known of a value that is `a` or `b`, who knows which. */
static inline uint64_t known_either(Bits a, Bits b) {
    return a.known & b.known & ~(a.value ^ b.value);
}
#endif
