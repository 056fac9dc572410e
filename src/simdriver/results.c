/* The driver's version, its words for errors, and its functions by name. */
#include "simdriver/state.h"

enum { VERSION = 13000 };

static const struct Words {
    CUresult result;
    const char *name, *text;
} words[] = {
#define RESULT(value, name, text) {value, name, text},
#include "simdriver/results.def"
};

static CUresult find_words(CUresult result, const struct Words **found) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].result != result)
            continue;
        *found = &words[i];
        return CUDA_OK;
    }
    return CUDA_INVALID_VALUE;
}

CUresult simulated_error_name(CUresult error, const char **text) {
    const struct Words *found;
    const CUresult result = find_words(error, &found);
    *text = result == CUDA_OK ? found->name : NULL;
    return result;
}

CUresult simulated_error_string(CUresult error, const char **text) {
    const struct Words *found;
    const CUresult result = find_words(error, &found);
    *text = result == CUDA_OK ? found->text : NULL;
    return result;
}

CUresult simulated_driver_version(int *version) {
    *version = VERSION;
    return CUDA_OK;
}

CUresult simulated_runs_ptx(void) {
    return CUDA_OK;
}

typedef void AnyFunction(void);
static const struct Function {
    const char *symbol;
    AnyFunction *function;
} functions[] = {
#define DRIVER(field, symbol, parameters) {symbol, (AnyFunction *)simulated_##field},
#include "runtime/driver/driver.def"
#define DRIVER(field, symbol, parameters) {symbol, (AnyFunction *)simulated_##field},
#include "simdriver/more.def"
};

/* Names are those of the documentation, without the suffix that tells versions apart. */
static bool is_named(const char *symbol, const char *name) {
    const size_t length = strlen(name);
    return !strncmp(symbol, name, length) &&
           (!symbol[length] || (symbol[length] == '_' && symbol[length + 1] == 'v'));
}

CUresult simulated_find_function(const char *name, void **function, int version, uint64_t flags,
                                 int *status) {
    enum { FOUND = 0, NOT_FOUND = 1 };
    *function = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && !*function; i++)
        if (is_named(functions[i].symbol, name))
            memcpy(function, &functions[i].function, sizeof *function);
    if (status)
        *status = *function ? FOUND : NOT_FOUND;
    return *function || status ? CUDA_OK : CUDA_NOT_FOUND;
}
