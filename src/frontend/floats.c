/* See floats.h. */
#include "frontend/floats.h"

#include <math.h>

double float_remainder(double a, double b) {
    const double rest = fmod(a, b);
    if (rest == 0)
        return copysign(0.0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

double float_floor_divide(double a, double b) {
    const double rest = fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign(0.0, a / b);
    const double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}
