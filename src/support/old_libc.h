/* How functions of old versions of an architecture's glibc are asked for. */
#ifndef TILEC_SUPPORT_OLD_LIBC_H
#define TILEC_SUPPORT_OLD_LIBC_H

#if defined(__x86_64__)
#define FIRST_GLIBC "GLIBC_2.2.5"
#define CONDATTR_SETCLOCK_GLIBC "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define FIRST_GLIBC "GLIBC_2.17"
#define CONDATTR_SETCLOCK_GLIBC FIRST_GLIBC
#endif

/* `ours` in this file is the first version of glibc's `name`. */
#define FIRST_VERSION(ours, name) __asm__(".symver " #ours "," #name "@" FIRST_GLIBC)

/* Puts the first version of a function in the place of the newest; a row of old_libc.def. */
#define USE_FIRST_VERSION(result, name, parameters, arguments)                                     \
    FIRST_VERSION(old_##name, name);                                                               \
    result old_##name parameters;                                                                  \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters {                                                              \
        return old_##name arguments;                                                               \
    }
#endif
