/* Runs a fuzz target on files and on all files of folders: `fuzz_x PATH...`. Fails when there is
 * nothing to run. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static unsigned replayed;

static bool replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (!file || fstat(fileno(file), &status) != 0) {
        perror(path);
        if (file)
            fclose(file);
        return false;
    }
    /* Exactly as long as the input, so that a read behind its end is one behind the block. */
    size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size ? size : 1);
    bool ok = data && fread(data, 1, size, file) == size;
    fclose(file);
    if (ok)
        LLVMFuzzerTestOneInput(data, size);
    else
        fprintf(stderr, "%s: cannot read\n", path);
    free(data);
    replayed++;
    return ok;
}

static bool replay(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) {
        perror(path);
        return false;
    }
    if (!S_ISDIR(status.st_mode))
        return replay_file(path);
    DIR *folder = opendir(path);
    bool ok = folder != NULL;
    for (struct dirent *entry; ok && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        ok = length > 0 && (size_t)length < sizeof inner && replay(inner);
    }
    if (folder)
        closedir(folder);
    return ok;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!replay(argv[i]))
            return 1;
    printf("%u inputs\n", replayed);
    return replayed ? 0 : 1;
}
