/* Random verified functions of Tile IR, for comparing what a function computes before and after
 * passes.
 *
 *   func @random(%in_i: ptr<i32>, %in_f: ptr<f32>, %out_i: ptr<i32>, %out_f: ptr<f32>, %n: i32, %x:
 * f32)
 *
 * Each array has RANDOM_IR_ELEMENTS elements. Whatever the inputs, the function ends, stays inside
 * its arrays, divides by no zero, shifts by less than the width and converts floats within range,
 * so every run gives the same bits; only the bits of NaN may differ. Results are stored by one
 * instance: run it on a grid of one. Integer results go to out_i, float results to out_f; elements
 * without a result are left. */
#ifndef TILEC_TESTS_RANDOM_IR_H
#define TILEC_TESTS_RANDOM_IR_H
#include "ir/ir.h"

enum { RANDOM_IR_ELEMENTS = 8192, RANDOM_IR_PARAMS = 6 };

/* The same seed gives the same function in every build by one compiler. `size` is about the number
 * of steps, each some ops; 0: 40.
 */
Func *random_ir(Module *module, uint64_t seed, unsigned size);
#endif
