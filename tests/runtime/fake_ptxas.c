/* An assembler for tests: the cubin is a text with the hash of the PTX. It takes a while, as the
 * real one does, and says in the file FAKE_PTXAS_LOG, in one write, which PTX it was given. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t hash_file(const char *path) {
    uint64_t hash = 14695981039346656037u;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = getc(file)) != EOF;)
        hash = (hash ^ (uint64_t)c) * 1099511628211u;
    if (file)
        fclose(file);
    return hash;
}

/* -v -O3 -arch ARCH INPUT -o OUTPUT [-lineinfo] */
int main(int argc, char **argv) {
    const char *log = getenv("FAKE_PTXAS_LOG"), *ms = getenv("FAKE_PTXAS_MS");
    if (argc < 8)
        return 2;
    char text[64];
    snprintf(text, sizeof text, "cubin of %016llx\n", (unsigned long long)hash_file(argv[5]));
    const long time_ms = ms ? atol(ms) : 0;
    nanosleep(&(struct timespec){time_ms / 1000, time_ms % 1000 * 1000000}, NULL);
    const int fd = log ? open(log, O_WRONLY | O_APPEND) : -1;
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        return 1;
    FILE *out = fopen(argv[7], "w");
    return out && fputs(text, out) >= 0 && fclose(out) == 0 ? 0 : 1;
}
