/* Division of floats as Python has it: the quotient is rounded down, and what is left has the sign
 * of the divisor, also where it is zero. The quotient is made from what is left, which is exact:
 * 1.5 // 1e-05 is 149999, though 1.5 / 1e-05 rounds to 150000. Divisors are not 0. */
#ifndef TILEC_FRONTEND_FLOATS_H
#define TILEC_FRONTEND_FLOATS_H

double float_floor_divide(double a, double b);
double float_remainder(double a, double b);
#endif
