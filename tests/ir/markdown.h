/* Documents that are made from tables: printed, or held to what is in a file. */
#ifndef TILEC_TESTS_MARKDOWN_H
#define TILEC_TESTS_MARKDOWN_H
#include "support/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool markdown_holds(const char *path, Str text) {
    FILE *file = fopen(path, "rb");
    char *found = malloc(text.len + 1);
    size_t len = file && found ? fread(found, 1, text.len + 1, file) : 0;
    bool same = file && found && len == text.len && memcmp(found, text.ptr, len) == 0;
    if (file)
        fclose(file);
    free(found);
    return same;
}

/* The program's exit status: without arguments it prints the text, with --check FILE it succeeds if
 * the file holds just that. */
static inline int markdown_main(int argc, char **argv, Str text) {
    if (argc != 3 || !str_is(str_from(argv[1]), "--check"))
        return fwrite(text.ptr, 1, text.len, stdout) != text.len;
    if (markdown_holds(argv[2], text))
        return 0;
    fprintf(stderr, "%s is not current: write the output of %s there\n", argv[2], argv[0]);
    return 1;
}
#endif
