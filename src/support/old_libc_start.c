/* Starting a program. __libc_start_main of 2.34 runs the program's constructors itself; the first
 * version runs what it is given, or, from 2.34 on with nothing given, the constructors. Given is
 * what glibc's own startup files had in programs until then. */
#include "support/old_libc.h"

typedef int Main(int argc, char **argv, char **environment);
typedef void Constructor(int argc, char **argv, char **environment);

extern Constructor *__preinit_array_start[], *__preinit_array_end[];
extern Constructor *__init_array_start[], *__init_array_end[];

FIRST_VERSION(old_libc_start_main, __libc_start_main);
int old_libc_start_main(Main *main, int argc, char **argv, Constructor *construct,
                        void (*destroy)(void), void (*end_loader)(void), void *stack_end);
int __wrap___libc_start_main(Main *main, int argc, char **argv, Constructor *construct,
                             void (*destroy)(void), void (*end_loader)(void), void *stack_end);

static void construct_all(int argc, char **argv, char **environment) {
    for (Constructor **run = __preinit_array_start; run < __preinit_array_end; run++)
        (*run)(argc, argv, environment);
    for (Constructor **run = __init_array_start; run < __init_array_end; run++)
        (*run)(argc, argv, environment);
}

/* The loader runs the program's destructors in all versions. */
int __wrap___libc_start_main(Main *main, int argc, char **argv, Constructor *construct,
                             void (*destroy)(void), void (*end_loader)(void), void *stack_end) {
    return old_libc_start_main(main, argc, argv, construct_all, destroy, end_loader, stack_end);
}
