/* Numbers as C has them: a host may have a locale whose decimal point is a comma, and printf and
 * strtod go by it. Of this thread alone, and without memory where the C library has that locale
 * ready, as glibc and musl do. */
#ifndef TILEC_SUPPORT_C_LOCALE_H
#define TILEC_SUPPORT_C_LOCALE_H
#include <locale.h>

/* What the thread had, for c_locale_leave. */
static inline locale_t c_locale_enter(void) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(c);
}

static inline void c_locale_leave(locale_t before) {
    const locale_t c = uselocale(before);
    if (c != before)
        freelocale(c);
}
#endif
