/* What is built with a new glibc runs with every one from 2.28 on: the linker puts these functions
 * in the place of those that only newer ones have (--wrap, see CMakeLists.txt here), in LLVM's and
 * the C++ library's objects, too. `tests/install` holds the result to that.
 *
 * A function in the table has an older version that does the same, which is asked for by its name.
 * Those of libpthread and libdl are found in these, which were libraries of their own before 2.34.
 */
#define _GNU_SOURCE
#include "support/old_libc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OLD USE_FIRST_VERSION
#include "support/old_libc.def"

/* Of 2.34, as those of the table, but its first version is not of the first glibc. */
__asm__(".symver old_condattr_setclock,pthread_condattr_setclock@" CONDATTR_SETCLOCK_GLIBC);
int old_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock) {
    return old_condattr_setclock(attributes, clock);
}

/* Of 2.33; before, the header called functions with the version of the structure. The kernel's
 * structure is glibc's on 64-bit machines. */
int __wrap_stat(const char *path, struct stat *result);
int __wrap_stat(const char *path, struct stat *result) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, result, 0);
}

int __wrap_lstat(const char *path, struct stat *result);
int __wrap_lstat(const char *path, struct stat *result) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}

int __wrap_fstat(int file, struct stat *result);
int __wrap_fstat(int file, struct stat *result) {
    return (int)syscall(SYS_fstat, file, result);
}

int __wrap_fstatat(int folder, const char *path, struct stat *result, int flags);
int __wrap_fstatat(int folder, const char *path, struct stat *result, int flags) {
    return (int)syscall(SYS_newfstatat, folder, path, result, flags);
}

/* Of 2.33. LLVM tells of it in statistics that are not printed. */
#if __GLIBC_PREREQ(2, 33)
struct mallinfo2 __wrap_mallinfo2(void);
struct mallinfo2 __wrap_mallinfo2(void) {
    return (struct mallinfo2){0};
}
#endif

/* Of 2.36. LLVM asks for random numbers, for names of files that it never makes here. */
uint32_t __wrap_arc4random(void);
uint32_t __wrap_arc4random(void) {
    uint32_t bits = 0;
    return getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits ? bits : (uint32_t)clock();
}

/* Of 2.32; the C++ library counts references without atomic instructions while it is true. */
__attribute__((visibility("hidden"))) char __libc_single_threaded;

/* Of 2.35. The C++ unwinder asks which object an address is in, and for its table of frames. */
#if __GLIBC_PREREQ(2, 35)
typedef struct Search {
    uintptr_t address;
    struct dl_find_object *found;
} Search;

static int look_in_object(struct dl_phdr_info *info, size_t size, void *user) {
    Search *search = user;
    struct dl_find_object found = {0};
    bool here = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME)
            found.dlfo_eh_frame = (void *)start;
        if (part->p_type != PT_LOAD)
            continue;
        here = here || search->address - start < part->p_memsz;
        if (!found.dlfo_map_start)
            found.dlfo_map_start = (void *)start;
        found.dlfo_map_end = (void *)(start + part->p_memsz);
    }
    if (!here || !found.dlfo_eh_frame)
        return 0;
    *search->found = found;
    return 1;
}

int __wrap__dl_find_object(void *address, struct dl_find_object *found);
int __wrap__dl_find_object(void *address, struct dl_find_object *found) {
    Search search = {(uintptr_t)address, found};
    return dl_iterate_phdr(look_in_object, &search) ? 0 : -1;
}
#endif
