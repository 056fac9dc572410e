/* Runs many launches in the simulator, for agree.py: sim_batch FOLDER FIRST COUNT RESULT
 *
 * FOLDER/launches.txt has a line for each launch:
 *
 *     PTX KERNEL GX GY GZ BX BY BZ SHARED ARGUMENT...
 *
 * where an argument is i<integer>, w<bytes> (an array to be written, filled with 0xcd before),
 * r<file>:<offset>:<bytes> (an array that is read), u<file>:<offset>:<bytes> (read and written),
 * s<file>:<offset>:<bytes> (a structure passed by value) or
 * t<array>:<type>:<rank>:<interleave>:<swizzle>:<promotion>:<fill>:<extents>:<strides>:<box>:<element
 * strides> (the map of a tensor in the memory of one of the arrays before it; numbers as
 * cuTensorMapEncodeTiled takes them). Files are named from FOLDER. Of the
 * launches FIRST to FIRST + COUNT - 1, RESULT.bin gets the arrays w and u as they are afterwards,
 * one after another, and RESULT.txt a line each: `ok`, or what the simulator said. A launch that
 * follows one of the same file shares its module. Exit status 2 when FOLDER cannot be used; what
 * was done until then is in the files. */
#include "sim/sim.h"
#include "support/file.h"

#include <stdio.h>
#include <stdlib.h>

enum { FILE_LIMIT = 1 << 29, MAX_ARGS = 32, MAX_FILES = 1024, STEP_LIMIT = 50 * 1000 * 1000 };

typedef struct Batch {
    Ctx *files; /* holds what was read */
    const char *folder;
    struct {
        Str name, data;
    } file[MAX_FILES];
    unsigned file_count;
    FILE *arrays, *verdicts;
    /* The module in use. */
    Ctx *ctx;
    Str ptx;
    SimModule *module;
} Batch;

enum { MAX_RANK = 5, MAP_WORDS = 7 + 4 * MAX_RANK };

typedef struct Array {
    uint8_t *data;
    uint64_t bytes;
    bool written;
} Array;

static Ctx *context_or_exit(void) {
    Ctx *ctx = ctx_create();
    if (!ctx) {
        fprintf(stderr, "sim_batch: out of memory\n");
        exit(2);
    }
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    return ctx;
}

static Str file_or_exit(Batch *b, Str name) {
    for (unsigned i = 0; i < b->file_count; i++)
        if (str_eq(b->file[i].name, name))
            return b->file[i].data;
    Str text = {0};
    Arena *arena = &b->files->arena;
    int error = file_read(arena, file_join(arena, str_from(b->folder), name), FILE_LIMIT, &text);
    if (error || b->file_count == MAX_FILES) {
        fprintf(stderr, "sim_batch: %.*s: %s\n", STR_ARG(name),
                error ? file_error_text(arena, error) : "too many files");
        exit(2);
    }
    b->file[b->file_count].name = str_from(str_dup(arena, name));
    b->file[b->file_count++].data = text;
    return text;
}

/* The bytes that <file>:<offset>:<bytes> names; ends the program when there are none. */
static Str slice_or_exit(Batch *b, const char *word) {
    const char *colon = strchr(word, ':');
    char *end = NULL;
    Str data = colon ? file_or_exit(b, (Str){word, (size_t)(colon - word)}) : (Str){0};
    uint64_t offset = colon ? strtoull(colon + 1, &end, 10) : 0;
    uint64_t bytes = end && *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
    if (!bytes || offset > data.len || bytes > data.len - offset) {
        fprintf(stderr, "sim_batch: no such bytes: %s\n", word);
        exit(2);
    }
    return (Str){data.ptr + offset, bytes};
}

static uint8_t *copy_or_exit(const void *data, uint64_t bytes) {
    uint8_t *copy = malloc(bytes ? bytes : 1);
    if (!copy) {
        fprintf(stderr, "sim_batch: out of memory\n");
        exit(2);
    }
    if (data)
        memcpy(copy, data, bytes);
    else
        memset(copy, 0xcd, bytes);
    return copy;
}

/* One line for all diagnostics of the context, which are forgotten. */
static void write_verdict(Batch *b, bool ok) {
    StrBuf text = strbuf(&b->ctx->arena);
    diag_print_all(&b->ctx->diags, &text);
    if (ok && !text.len)
        strbuf_puts(&text, "ok");
    else if (!text.len)
        strbuf_puts(&text, "failed without a message");
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\n')
            text.ptr[i] = i + 1 == text.len ? ' ' : '|';
    fprintf(b->verdicts, "%.*s\n", STR_ARG(strbuf_str(&text)));
    b->ctx->diags = (Diags){.arena = b->ctx->diags.arena, .sources = b->ctx->diags.sources};
}

static void use_module(Batch *b, Str ptx) {
    if (b->ctx && str_eq(b->ptx, ptx))
        return;
    ctx_destroy(b->ctx);
    b->ctx = context_or_exit();
    b->ptx = str_from(str_dup(&b->ctx->arena, ptx));
    b->module = sim_parse(b->ctx, source_add(&b->ctx->sources, ptx, file_or_exit(b, ptx)));
}

/* False after a report. */
static bool encode_map(Batch *b, char *words, const uint64_t *addresses, uint32_t array_count,
                       SimTensorMap *map) {
    uint64_t word[MAP_WORDS] = {0};
    unsigned count = 0;
    for (const char *part; count < MAP_WORDS && (part = strtok_r(words, ":", &words));)
        word[count++] = strtoull(part, NULL, 10);
    uint64_t rank = word[2], *dims = &word[7];
    if (rank < 1 || rank > MAX_RANK || count != 7 + 4 * rank - 1 || word[0] >= array_count) {
        fprintf(stderr, "sim_batch: launches.txt: not a tensor map\n");
        exit(2);
    }
    uint64_t *strides = dims + rank, *box = strides + rank - 1, *steps = box + rank;
    uint32_t box32[MAX_RANK], steps32[MAX_RANK];
    for (unsigned i = 0; i < rank; i++) {
        box32[i] = (uint32_t)box[i];
        steps32[i] = (uint32_t)steps[i];
    }
    return sim_tensor_map_encode(b->ctx, map, (SimTensorType)word[1], (uint32_t)rank,
                                 addresses[word[0]], dims, strides, box32, steps32,
                                 (SimTensorInterleave)word[3], (SimTensorSwizzle)word[4],
                                 (SimTensorPromotion)word[5], (SimTensorFill)word[6]);
}

static void run_launch(Batch *b, char *line) {
    char *rest = line;
    const char *ptx = strtok_r(rest, " ", &rest), *kernel = strtok_r(rest, " ", &rest);
    uint64_t sizes[7] = {0};
    for (unsigned i = 0; i < 7; i++) {
        const char *word = strtok_r(rest, " ", &rest);
        sizes[i] = word ? strtoull(word, NULL, 10) : 1;
    }
    if (!ptx || !kernel) {
        fprintf(stderr, "sim_batch: launches.txt: a line without a kernel\n");
        exit(2);
    }
    use_module(b, str_from(ptx));
    SimMemory *memory = sim_memory_create(b->ctx);
    Array arrays[MAX_ARGS];
    uint64_t values[MAX_ARGS], addresses[MAX_ARGS];
    SimTensorMap maps[MAX_ARGS];
    bool ok = true;
    const void *params[MAX_ARGS];
    uint32_t count = 0, array_count = 0;
    for (char *word; count < MAX_ARGS && (word = strtok_r(rest, " ", &rest)); count++) {
        params[count] = &values[count];
        if (word[0] == 't') {
            ok = ok && encode_map(b, word + 1, addresses, array_count, &maps[count]);
            params[count] = &maps[count];
            continue;
        }
        if (word[0] == 'i') {
            values[count] = strtoull(word + 1, NULL, 0);
            continue;
        }
        Str data =
            word[0] == 'w' ? (Str){NULL, strtoull(word + 1, NULL, 10)} : slice_or_exit(b, word + 1);
        if (word[0] == 's') {
            params[count] = data.ptr;
            continue;
        }
        Array *array = &arrays[array_count++];
        *array = (Array){copy_or_exit(data.ptr, data.len), data.len, word[0] != 'r'};
        values[count] = sim_map(memory, STR("array"), array->data, array->bytes, NULL, false);
        addresses[array_count - 1] = values[count];
    }
    SimLaunch launch = {.kernel = str_from(kernel),
                        .grid = {(uint32_t)sizes[0], (uint32_t)sizes[1], (uint32_t)sizes[2]},
                        .block = {(uint32_t)sizes[3], (uint32_t)sizes[4], (uint32_t)sizes[5]},
                        .dynamic_shared = sizes[6],
                        .params = params,
                        .param_count = count,
                        .max_reports = 1,
                        .max_steps = STEP_LIMIT};
    SimCounts *counts = NULL;
    ok = ok && b->module && sim_launch(b->module, memory, &launch, &counts);
    for (uint32_t i = 0; i < array_count; i++) {
        if (arrays[i].written)
            fwrite(arrays[i].data, 1, arrays[i].bytes, b->arrays);
        free(arrays[i].data);
    }
    fflush(b->arrays);
    write_verdict(b, ok);
    fflush(b->verdicts);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: sim_batch FOLDER FIRST COUNT RESULT\n");
        return 2;
    }
    Batch b = {.files = context_or_exit(), .folder = argv[1]};
    uint64_t first = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    b.arrays = fopen(str_format(&b.files->arena, "%s.bin", argv[4]), "wb");
    b.verdicts = fopen(str_format(&b.files->arena, "%s.txt", argv[4]), "w");
    if (!b.arrays || !b.verdicts) {
        fprintf(stderr, "sim_batch: %s: cannot write\n", argv[4]);
        return 2;
    }
    char *rest = str_dup(&b.files->arena, file_or_exit(&b, STR("launches.txt")));
    for (uint64_t i = 0; i < first + count; i++) {
        char *line = strtok_r(rest, "\n", &rest);
        if (!line)
            break;
        if (i >= first)
            run_launch(&b, line);
    }
    ctx_destroy(b.ctx);
    ctx_destroy(b.files);
    return fclose(b.arrays) || fclose(b.verdicts) ? 2 : 0;
}
