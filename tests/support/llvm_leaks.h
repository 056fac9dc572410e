/* For programs that leave LLVM by a jump: what it held then stays allocated, as tilec.h says of
 * memory limits and cancellations. LeakSanitizer, which may be a library of its own, calls the
 * function. */
#ifndef TILEC_TESTS_LLVM_LEAKS_H
#define TILEC_TESTS_LLVM_LEAKS_H

__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:llvm\nleak:LLVM\n";
}
#endif
