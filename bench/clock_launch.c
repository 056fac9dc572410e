/* The simulator's side of clock.py: reads launches, a line each, and prints the time that the
 * simulator predicts of each, or why there is none, as a JSON object.
 *
 *     PTX <tab> KERNEL <tab> REGISTERS <tab> SPILLED <tab> SHARED <tab> GX,GY,GZ <tab> THREADS
 * <tab> ARGUMENT..
 *
 * An argument is i<bytes>:<bits>; a<kind>:<bytes>:<elements>, a pointer to the middle of an array
 * whose elements have so many bytes and are random floats (kind f), brain floats (b) or integers
 * from 0 to 7 (i), or 0 and 1 (p); or m<recipe>, a tensor map of the arguments before it. Arrays
 * repeat a part of their contents: what a launch does not touch costs nothing. */
#include "sim/sim.h"
#include "support/file.h"
#include "target/tensor_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PART = 1 << 22,
    MAX_ARGS = 160,
    MAX_LINE = 1 << 16,
    MAX_PTX = 1 << 28,
    MAX_STEPS = 20000000,
    BUDGET = 300000
};

static _Noreturn void stop(const char *why) {
    printf("{\"error\": \"%s\"}\n", why);
    exit(1);
}

/* Normal numbers are the sum of twelve uniform ones. */
static double random_normal(uint64_t *state) {
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 40) / (1 << 24);
    }
    return sum;
}

static uint64_t element(char kind, unsigned bytes, uint64_t *state) {
    double normal = random_normal(state);
    float single = (float)normal;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (kind == 'i' || kind == 'p')
        return *state >> 40 & (kind == 'p' ? 1 : 7);
    if (kind == 'b')
        return bits >> 16;
    if (bytes == 4)
        return bits;
    if (bytes == 2) { /* the exponent of a number near 1 fits */
        int32_t exponent = (int32_t)(bits >> 23 & 0xff) - 127 + 15;
        return (bits >> 31 << 15) |
               (exponent <= 0 ? 0 : (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff));
    }
    if (bytes == 1)
        return (bits >> 31 << 7) | (0x30 + (bits >> 16 & 15));
    uint64_t wide;
    memcpy(&wide, &normal, sizeof wide);
    return wide;
}

/* Memory whose parts all are the file's, until they are written. */
static void *repeated(char kind, unsigned bytes, uint64_t size, uint64_t seed) {
    int file = memfd_create("array", 0);
    if (file < 0 || ftruncate(file, PART))
        stop("no memory");
    uint8_t *part = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    uint8_t *all = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (part == MAP_FAILED || all == MAP_FAILED)
        stop("no memory");
    for (uint64_t at = 0; at < PART; at += bytes) {
        uint64_t bits = element(kind, bytes, &seed);
        memcpy(part + at, &bits, bytes);
    }
    for (uint64_t at = 0; at < size; at += PART)
        if (mmap(all + at, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                 file, 0) == MAP_FAILED)
            stop("no memory");
    munmap(part, PART);
    close(file);
    return all;
}

static bool encode(Ctx *ctx, const char *text, const void *const *params, SimTensorMap *map) {
    TensorMapRecipe recipe;
    TensorMapShape shape;
    RecipeProblem problem = {0};
    uint32_t box[RECIPE_MAX_RANK], steps[RECIPE_MAX_RANK];
    if (!recipe_parse(&ctx->arena, str_from(text), &recipe) ||
        !recipe_resolve(&recipe, params, &shape, &problem))
        return false;
    for (int32_t i = 0; i < recipe.rank; i++) {
        box[i] = (uint32_t)recipe.box[i];
        steps[i] = 1;
    }
    return sim_tensor_map_encode(
        ctx, map, (SimTensorType)recipe_element(recipe.dtype), (uint32_t)recipe.rank, shape.address,
        shape.extents, shape.strides + 1, box, steps, SIM_INTERLEAVE_NONE,
        (SimTensorSwizzle)recipe_swizzle(&recipe), SIM_PROMOTION_128B, SIM_FILL_ZERO);
}

typedef struct Arguments {
    const void *values[MAX_ARGS];
    uint64_t bits[MAX_ARGS];
    SimTensorMap maps[RECIPE_MAX_MAPS];
    uint32_t count, map_count;
} Arguments;

static void read_argument(Ctx *ctx, SimMemory *memory, Arguments *args, const char *text) {
    uint32_t number = args->count++;
    if (args->count > MAX_ARGS)
        stop("too many arguments");
    args->values[number] = &args->bits[number];
    if (text[0] == 'i') {
        args->bits[number] = strtoull(strchr(text, ':') + 1, NULL, 16);
    } else if (text[0] == 'a') {
        char *end;
        unsigned bytes = (unsigned)strtoul(text + 3, &end, 10);
        uint64_t size = (strtoull(end + 1, NULL, 10) * bytes + PART - 1) / PART * PART;
        void *data = repeated(text[1], bytes, size, number + 1);
        args->bits[number] = sim_map(memory, str_from("array"), data, size, NULL, false) + size / 2;
    } else {
        SimTensorMap *map = &args->maps[args->map_count++];
        if (args->map_count > RECIPE_MAX_MAPS || !encode(ctx, text + 1, args->values, map))
            stop("other form");
        args->values[number] = map->bytes;
    }
}

static void predict_line(Ctx *ctx, char *line) {
    Arguments *args = ARENA_NEW(&ctx->arena, Arguments);
    SimMemory *memory = sim_memory_create(ctx);
    SimLaunch launch = {.max_steps = MAX_STEPS};
    SimTimeOptions options = {.budget = BUDGET};
    SimTime time;
    Str text;
    char *rest = line, *path = strtok_r(line, "\t\n", &rest),
         *kernel = strtok_r(NULL, "\t\n", &rest);
    options.registers = (uint32_t)strtoul(strtok_r(NULL, "\t\n", &rest), NULL, 10);
    options.spilled = (uint32_t)strtoul(strtok_r(NULL, "\t\n", &rest), NULL, 10);
    launch.dynamic_shared = strtoull(strtok_r(NULL, "\t\n", &rest), NULL, 10);
    sscanf(strtok_r(NULL, "\t\n", &rest), "%u,%u,%u", &launch.grid[0], &launch.grid[1],
           &launch.grid[2]);
    launch.block[0] = (uint32_t)strtoul(strtok_r(NULL, "\t\n", &rest), NULL, 10);
    launch.block[1] = launch.block[2] = 1;
    if (file_read(&ctx->arena, path, MAX_PTX, &text))
        stop("no such file");
    SimModule *module = sim_parse(ctx, source_add(&ctx->sources, str_from(path), text));
    for (char *word; (word = strtok_r(NULL, "\t\n", &rest));)
        read_argument(ctx, memory, args, word);
    launch.kernel = str_from(kernel);
    launch.params = args->values;
    launch.param_count = args->count;
    if (!module || !sim_predict(module, memory, &launch, &options, &time)) {
        StrBuf out = strbuf(&ctx->arena);
        diag_print_all(&ctx->diags, &out);
        for (size_t i = 0; i < out.len; i++)
            if (out.ptr[i] == '\n' || out.ptr[i] == '"' || out.ptr[i] == '\\')
                out.ptr[i] = ' ';
        printf("{\"error\": \"%.*s\"}\n", out.len > 300 ? 300 : (int)out.len, out.ptr);
        return;
    }
    StrBuf out = strbuf(&ctx->arena);
    sim_json_time(&time, &out);
    printf("%.*s\n", STR_ARG(strbuf_str(&out)));
}

int main(void) {
    static char line[MAX_LINE];
    while (fgets(line, sizeof line, stdin)) {
        Ctx *ctx = ctx_create();
        if (!ctx)
            stop("no memory");
        ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
        predict_line(ctx, line);
        fflush(stdout);
        ctx_destroy(ctx);
    }
    return 0;
}
