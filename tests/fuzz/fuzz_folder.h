/* A folder for the files of a fuzz target, which goes with the process. */
#ifndef TILEC_TESTS_FUZZ_FUZZ_FOLDER_H
#define TILEC_TESTS_FUZZ_FUZZ_FOLDER_H
#include "fuzz.h"

#include <ftw.h>
#include <unistd.h>

static char fuzz_folder_path[] = "/tmp/tilec-fuzz-XXXXXX";

static inline int fuzz_remove_one(const char *path, const struct stat *info, int flag,
                                  struct FTW *walk) {
    return remove(path);
}

static inline void fuzz_remove_folder(void) {
    nftw(fuzz_folder_path, fuzz_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *fuzz_folder(void) {
    static bool made;
    if (made)
        return fuzz_folder_path;
    FUZZ_CHECK(mkdtemp(fuzz_folder_path));
    atexit(fuzz_remove_folder);
    made = true;
    return fuzz_folder_path;
}

#endif
