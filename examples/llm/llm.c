/* Generates text with a transformer of Llama's form, whose every operation is a kernel of
 * kernels.tile.
 *
 *     llm FOLDER [--prompt TEXT | --tokens 1,2,3] [--steps N] [--temperature T] [--top-k K]
 *         [--seed S] [--kernels FILE] [--profile N] [--logits FILE]
 *
 * FOLDER has config.json and .safetensors files. A model of 256 tokens reads and writes bytes;
 * others take and give numbers of tokens. --temperature 0, the default, takes the likeliest token.
 * --profile says how many steps are run once more with the time of every kernel taken (default 8).
 * --logits writes those of each step, fp32, to a file. */
#include "steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BYTES = 256, /* tokens of a model that reads bytes */
    GROUP = 8    /* tokens that are waited for at once */
};

typedef struct Options {
    const char *folder, *prompt, *tokens, *kernels, *logits;
    int64_t steps, profile;
    Choice choice;
} Options;

typedef struct Session {
    Gpu gpu;
    Model model;
    int32_t *tokens; /* the prompt's, then those that were generated */
    int64_t prompt, count;
    FILE *logits;
    float *row; /* of logits */
} Session;

static int usage(void) {
    fputs("llm FOLDER [--prompt TEXT | --tokens 1,2,3] [--steps N] [--temperature T] [--top-k K]\n"
          "    [--seed S] [--kernels FILE] [--profile N] [--logits FILE]\n",
          stderr);
    return 2;
}

static bool read_integer(const char *text, int64_t least, int64_t *value) {
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    *value = number;
    return *text && !*end && !errno && number >= least && number < INT32_MAX;
}

static bool read_option(Options *options, const char *name, const char *value) {
    char *end;
    if (!strcmp(name, "--prompt"))
        options->prompt = value;
    else if (!strcmp(name, "--tokens"))
        options->tokens = value;
    else if (!strcmp(name, "--kernels"))
        options->kernels = value;
    else if (!strcmp(name, "--logits"))
        options->logits = value;
    else if (!strcmp(name, "--steps"))
        return read_integer(value, 1, &options->steps);
    else if (!strcmp(name, "--profile"))
        return read_integer(value, 0, &options->profile);
    else if (!strcmp(name, "--top-k"))
        return read_integer(value, 1, &options->choice.top_k);
    else if (!strcmp(name, "--seed"))
        return read_integer(value, 0, &options->choice.seed);
    else if (!strcmp(name, "--temperature"))
        return (options->choice.temperature = strtod(value, &end)) >= 0 && !*end;
    else
        return false;
    return true;
}

static bool read_options(int argc, char **argv, Options *options) {
    *options = (Options){
        .kernels = "kernels.tile", .steps = 32, .profile = 8, .choice = {.top_k = INT32_MAX - 1}};
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0 && !options->folder)
            options->folder = argv[i];
        else if (i + 1 == argc || !read_option(options, argv[i], argv[i + 1]))
            return false;
        else
            i++;
    }
    options->choice.greedy = options->choice.temperature == 0;
    return options->folder && !(options->prompt && options->tokens);
}

/* The prompt, with room for `steps` tokens behind it. False after a message. */
static bool read_prompt(Session *session, const Options *options) {
    const char *text = options->prompt ? options->prompt : "The ";
    const char *from = options->tokens;
    const size_t most = from ? strlen(from) : strlen(text);
    session->tokens = calloc(most + (size_t)options->steps + 1, sizeof *session->tokens);
    while (session->tokens && from && *from) {
        char *end;
        const long token = strtol(from, &end, 10);
        if (end == from || token < 0 || token > INT32_MAX || (*end && *end != ','))
            break;
        session->tokens[session->prompt++] = (int32_t)token;
        from = *end ? end + 1 : end;
    }
    for (; session->tokens && !from && *text; text++)
        session->tokens[session->prompt++] = (unsigned char)*text;
    session->count = session->prompt;
    if (session->prompt && !(from && *from))
        return true;
    fputs("llm: the prompt is empty, or no list of tokens\n", stderr);
    return false;
}

static bool check_prompt(const Session *session, const Options *options) {
    const int64_t vocabulary = session->model.config.vocabulary;
    if (!options->tokens && vocabulary != BYTES) {
        fputs("llm: the model's tokens are not bytes: give the prompt as --tokens\n", stderr);
        return false;
    }
    for (int64_t i = 0; i < session->prompt; i++) {
        if (session->tokens[i] < vocabulary)
            continue;
        fprintf(stderr, "llm: the model has no token %d\n", session->tokens[i]);
        return false;
    }
    return true;
}

/* The next tokens, each by all before it: the first step takes the whole prompt. A step finds the
 * token before it on the device, so that the host waits for several at once. */
static bool generate(Session *session, const Choice *choice, int64_t count) {
    Gpu *gpu = &session->gpu;
    const Model *model = &session->model;
    const uint64_t next = model->tokens + (uint64_t)session->count * sizeof(int32_t);
    const size_t bytes = (size_t)model->config.vocabulary * sizeof(float);
    for (int64_t place = session->count; place < session->count + count; place++) {
        const int64_t rows = place == session->prompt ? place : 1;
        step(gpu, model, place - rows, rows, choice);
    }
    if (!gpu_ok(tile_memory_read(gpu->device, &session->tokens[session->count], next,
                                 (size_t)count * sizeof(int32_t), gpu->stream),
                NULL) ||
        (session->logits &&
         !gpu_ok(tile_memory_read(gpu->device, session->row, model->logits, bytes, gpu->stream),
                 NULL)) ||
        !gpu_wait(gpu))
        return false;
    session->count += count;
    return !session->logits || fwrite(session->row, bytes, 1, session->logits) == 1;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void print_token(const Session *session, int32_t token) {
    if (session->model.config.vocabulary == BYTES)
        putchar(token);
    else
        printf("%d ", token);
    fflush(stdout);
}

/* How many tokens are waited for at once: one while kernels are compiled or logits are wanted. */
static int64_t count_of(const Session *session, int64_t warm, int64_t last) {
    if (session->logits || session->count < warm)
        return 1;
    return last - session->count < GROUP ? last - session->count : GROUP;
}

/* The first run of a step compiles, so that the first two tokens, one of many rows and one of one,
 * are no part of what is measured. */
static bool run(Session *session, const Options *options) {
    const int64_t warm = session->prompt + 2, last = session->prompt + options->steps;
    double begin = seconds(), compiled = 0;
    for (int64_t i = 0; i < session->prompt; i++)
        print_token(session, session->tokens[i]);
    while (session->count < last) {
        const int64_t before = session->count;
        if (!generate(session, &options->choice, count_of(session, warm, last)))
            return false;
        for (int64_t i = before; i < session->count; i++)
            print_token(session, session->tokens[i]);
        if (session->count == warm) {
            compiled = seconds() - begin;
            begin = seconds();
        }
    }
    putchar('\n');
    if (last > warm)
        fprintf(stderr, "%lld tokens, %.2f s for the first two; then %.1f tokens/s\n",
                (long long)options->steps, compiled, (double)(last - warm) / (seconds() - begin));
    return true;
}

/* Steps are run once more, which changes nothing: the same tokens stand in the cache already. */
static bool profile(Session *session, const Options *options) {
    Gpu *gpu = &session->gpu;
    int64_t first = session->count - 1 - options->profile;
    first = first < session->prompt ? session->prompt : first;
    if (!options->profile)
        return true;
    gpu->timing = true;
    step(gpu, &session->model, 0, session->prompt, &options->choice);
    if (!gpu_add_times(gpu))
        return false;
    fprintf(stderr, "The prompt, %lld tokens:\n", (long long)session->prompt);
    gpu_print_times(gpu, stderr);
    memset(gpu->ms, 0, sizeof gpu->ms);
    memset(gpu->launches, 0, sizeof gpu->launches);
    for (int64_t i = first; i + 1 < session->count; i++) {
        step(gpu, &session->model, i, 1, &options->choice);
        if (!gpu_add_times(gpu))
            return false;
    }
    if (first + 1 < session->count) {
        fprintf(stderr, "%lld steps of one token:\n", (long long)(session->count - 1 - first));
        gpu_print_times(gpu, stderr);
    }
    return true;
}

static bool open_session(Session *session, const Options *options) {
    const int64_t capacity = session->prompt + options->steps;
    if (!model_open(&session->model, &session->gpu, options->folder, capacity, session->prompt) ||
        !check_prompt(session, options))
        return false;
    if (options->logits) {
        session->logits = fopen(options->logits, "wb");
        session->row = calloc((size_t)session->model.config.vocabulary, sizeof *session->row);
        if (!session->logits || !session->row) {
            fprintf(stderr, "llm: %s cannot be written\n", options->logits);
            return false;
        }
    }
    return gpu_ok(tile_memory_write(session->gpu.device, session->model.tokens, session->tokens,
                                    (size_t)session->prompt * sizeof(int32_t), session->gpu.stream),
                  NULL) &&
           gpu_wait(&session->gpu);
}

int main(int argc, char **argv) {
    Options options;
    Session session = {0};
    if (!read_options(argc, argv, &options))
        return usage();
    if (!read_prompt(&session, &options))
        return 2;
    int status = gpu_open(&session.gpu, options.kernels);
    if (!status)
        status = !(open_session(&session, &options) && run(&session, &options) &&
                   profile(&session, &options));
    if (session.logits && fclose(session.logits))
        status = 1;
    model_close(&session.model, &session.gpu);
    gpu_close(&session.gpu);
    free(session.row);
    free(session.tokens);
    return status;
}
