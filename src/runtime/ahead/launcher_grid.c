/* Arithmetic of grids in C files that `tilec compile` writes, behind launcher.c: Python's, with
 * integers of 64 bits, as src/frontend/host_arith.c has it; `ok` becomes false where there is no
 * result. */
/* Operands: of what these give compilers do not say that it is always true. */

HELPER int64_t grid_whole(int64_t a) {
    return a;
}

HELPER double grid_real(double a) {
    return a;
}

HELPER int64_t grid_fail(bool *ok) {
    *ok = false;
    return 0;
}

HELPER int64_t grid_add(bool *ok, int64_t a, int64_t b) {
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? grid_fail(ok) : result;
}

HELPER int64_t grid_sub(bool *ok, int64_t a, int64_t b) {
    int64_t result;
    return __builtin_sub_overflow(a, b, &result) ? grid_fail(ok) : result;
}

HELPER int64_t grid_mul(bool *ok, int64_t a, int64_t b) {
    int64_t result;
    return __builtin_mul_overflow(a, b, &result) ? grid_fail(ok) : result;
}

/* Rounds down. */
HELPER int64_t grid_floordiv(bool *ok, int64_t a, int64_t b) {
    if (b == 0)
        return grid_fail(ok);
    if (b == -1)
        return grid_sub(ok, 0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

HELPER int64_t grid_mod(bool *ok, int64_t a, int64_t b) {
    if (b == 0)
        return grid_fail(ok);
    if (b == -1)
        return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}

HELPER int64_t grid_cdiv(bool *ok, int64_t a, int64_t b) {
    return grid_sub(ok, 0, grid_floordiv(ok, grid_sub(ok, 0, a), b));
}

HELPER int64_t grid_pow(bool *ok, int64_t base, int64_t exponent) {
    int64_t result = 1;
    if (exponent < 0)
        return grid_fail(ok);
    for (; exponent && *ok; exponent >>= 1) {
        if (exponent & 1)
            result = grid_mul(ok, result, base);
        if (exponent > 1)
            base = grid_mul(ok, base, base);
    }
    return result;
}

HELPER int64_t grid_lshift(bool *ok, int64_t a, int64_t b) {
    if (b < 0)
        return grid_fail(ok);
    return a == 0 ? 0 : b >= 63 ? grid_fail(ok) : grid_mul(ok, a, INT64_C(1) << b);
}

HELPER int64_t grid_rshift(bool *ok, int64_t a, int64_t b) {
    return b < 0 ? grid_fail(ok) : b >= 63 ? -(a < 0) : a >> b;
}

HELPER int64_t grid_min(bool *ok, int64_t a, int64_t b) {
    (void)ok;
    return b < a ? b : a;
}

HELPER int64_t grid_max(bool *ok, int64_t a, int64_t b) {
    (void)ok;
    return b > a ? b : a;
}

HELPER int64_t grid_abs(bool *ok, int64_t a) {
    return a < 0 ? grid_sub(ok, 0, a) : a;
}

HELPER int64_t grid_next_power_of_2(bool *ok, int64_t a) {
    int64_t result = 1;
    if (a > INT64_C(1) << 62)
        return grid_fail(ok);
    while (result < a)
        result *= 2;
    return result;
}

HELPER double grid_div(bool *ok, double a, double b) {
    return b == 0 ? (double)grid_fail(ok) : a / b;
}

HELPER int64_t grid_int(bool *ok, double a) {
    return a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? (int64_t)a : grid_fail(ok);
}

HELPER int64_t grid_floor(bool *ok, double a) {
    const int64_t whole = grid_int(ok, a);
    return *ok && (double)whole > a ? whole - 1 : whole;
}

HELPER int64_t grid_ceil(bool *ok, double a) {
    const int64_t whole = grid_int(ok, a);
    return *ok && (double)whole < a ? whole + 1 : whole;
}

/* An argument that has no sign, as a number of 64 bits that has one. */
HELPER int64_t grid_unsigned(bool *ok, int64_t a) {
    return a < 0 ? grid_fail(ok) : a;
}

HELPER bool grid_set(bool ok, const int64_t *sides, uint32_t grid[3]) {
    for (int i = 0; i < 3; i++) {
        if (!ok || sides[i] < 0 || sides[i] > max_grid[i])
            return false;
        grid[i] = (uint32_t)sides[i];
    }
    return true;
}
