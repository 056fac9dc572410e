/* What host code finds in modules: numbers' functions, triton.Config, and what it asks of the
 * machine. */
#include "frontend/host_run.h"

#include "frontend/value.h"

/* Everything that is known below a module has one spelling: aliases of Triton's and of torch's
 * modules lead there by these beginnings. */
static const struct {
    const char *alias, *path;
} aliases[] = {
    {"triton.runtime.autotuner.", "triton."},
    {"triton.runtime.driver.active.", "driver."},
    {"triton.runtime.driver.driver.active.", "driver."},
    {"triton.language.", "tl."},
    {"os.environ.get", "os.getenv"},
};

static Str canonical(HostCode *code, Str path) {
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        const size_t length = strlen(aliases[i].alias);
        if (path.len >= length && !memcmp(path.ptr, aliases[i].alias, length))
            return str_from(str_format(code->arena, "%s%.*s", aliases[i].path,
                                       (int)(path.len - length), path.ptr + length));
    }
    return path;
}

static Str last_name(Str path) {
    size_t at = path.len;
    while (at && path.ptr[at - 1] != '.')
        at--;
    return (Str){path.ptr + at, path.len - at};
}

static bool begins_with(Str path, const char *text) {
    const size_t length = strlen(text);
    return path.len >= length && !memcmp(path.ptr, text, length);
}

/* What a path is; calls without arguments that count are part of one. */
static bool is_cuda(HostCode *code, Span span, HostValue *value) {
    *value = host_text(STR("cuda"));
    return true;
}

static bool warp_size(HostCode *code, Span span, HostValue *value) {
    *value = host_int(32);
    return true;
}

static bool architecture(HostCode *code, Span span, HostValue *value) {
    *value = host_int(code->capability);
    return code->capability || host_cannot(code, span, "the GPU, which is not known here,");
}

static bool is_nothing(HostCode *code, Span span, HostValue *value) {
    *value = host_none();
    return true;
}

static const struct {
    const char *path;
    bool (*value)(HostCode *code, Span span, HostValue *value);
} values[] = {
    {"driver.get_current_target().backend", is_cuda},
    {"driver.get_current_target().warp_size", warp_size},
    {"driver.get_current_target().arch", architecture},
    {"torch.version.hip", is_nothing},
    {"torch.version.xpu", is_nothing},
};

bool host_path_value(HostCode *code, Str path, Span span, HostValue *value) {
    ScalarType type;
    path = canonical(code, path);
    *value = (HostValue){.kind = HOST_PATH, .text = path};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (str_is(path, values[i].path))
            return values[i].value(code, span, value);
    if (begins_with(path, "torch.") && scalar_parse(last_name(path), &type))
        *value = host_text(str_from(scalar_text(code->arena, type)));
    return true;
}

static bool option_of(HostCode *code, Str name, HostValue value, Span span, HostConfig *config,
                      bool *found) {
    *found = true;
#define HOST_CONFIG_OPTION(option, usual)                                                          \
    if (str_is(name, #option)) {                                                                   \
        const bool fits = value.kind == HOST_INT && value.i > 0 && value.i <= INT32_MAX;           \
        config->option = fits ? (int32_t)value.i : 0;                                              \
        return fits || value.kind == HOST_NONE ||                                                  \
               host_cannot(code, span, "a configuration with such a " #option);                    \
    }
    HOST_CONFIG_OPTIONS(HOST_CONFIG_OPTION)
#undef HOST_CONFIG_OPTION
    *found = false;
    return true;
}

/* triton.Config(kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None) */
static bool call_config(HostCode *code, const HostArguments *arguments, Span span,
                        HostValue *value) {
    static const char *const order[] = {"kwargs",   "num_warps", "num_stages",
                                        "num_ctas", "maxnreg",   "pre_hook"};
    HostConfig *config = ARENA_NEW(code->arena, HostConfig);
    config->span = span;
    for (uint32_t i = 0; i < arguments->count + arguments->named_count; i++) {
        const bool is_named = i >= arguments->count;
        if (!is_named && i >= sizeof order / sizeof *order)
            return host_cannot(code, span, "a configuration of so many arguments");
        const Str name =
            is_named ? arguments->named[i - arguments->count].name : str_from(order[i]);
        const HostValue given =
            is_named ? arguments->named[i - arguments->count].value : arguments->items[i];
        bool found;
        if (!option_of(code, name, given, span, config, &found))
            return false;
        if (str_is(name, "kwargs") && given.kind == HOST_DICT)
            config->values = given.dict;
        else if (str_is(name, "pre_hook") || str_is(name, "ir_override"))
            config->has_hook |= given.kind != HOST_NONE;
        else if (!found)
            return host_cannot(
                code, span,
                str_format(code->arena, "a configuration with this '%.*s'", STR_ARG(name)));
    }
    if (!config->values)
        config->values = host_new_dict(code).dict;
    *value = (HostValue){.kind = HOST_CONFIG, .config = config};
    return true;
}

static bool call_target(HostCode *code, const HostArguments *arguments, Span span,
                        HostValue *value) {
    *value = (HostValue){.kind = HOST_PATH, .text = STR("driver.get_current_target()")};
    return true;
}

static bool call_is_available(HostCode *code, const HostArguments *arguments, Span span,
                              HostValue *value) {
    *value = host_bool(true);
    return true;
}

static bool call_capability(HostCode *code, const HostArguments *arguments, Span span,
                            HostValue *value) {
    HostValue capability;
    *value = host_new_list(code, HOST_TUPLE);
    if (!architecture(code, span, &capability))
        return false;
    host_append(code, *value, host_int(capability.i / 10));
    host_append(code, *value, host_int(capability.i % 10));
    return true;
}

/* As if the variable were not set, as conditions of a file's top level have it. */
static bool call_getenv(HostCode *code, const HostArguments *arguments, Span span,
                        HostValue *value) {
    *value = arguments->count > 1 ? arguments->items[1] : host_none();
    return true;
}

static bool call_product(HostCode *code, const HostArguments *arguments, Span span,
                         HostValue *value) {
    return host_call_builtin(code, STR("itertools.product"), arguments, span, value);
}

static const struct {
    const char *path;
    bool (*call)(HostCode *code, const HostArguments *arguments, Span span, HostValue *value);
} calls[] = {
    {"triton.Config", call_config},
    {"driver.get_current_target", call_target},
    {"torch.cuda.is_available", call_is_available},
    {"torch.cuda.get_device_capability", call_capability},
    {"os.getenv", call_getenv},
    {"itertools.product", call_product},
};

bool host_call_path(HostCode *code, Str path, const HostArguments *arguments, Span span,
                    HostValue *value) {
    path = canonical(code, path);
    const Str name = last_name(path);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (str_is(path, calls[i].path))
            return calls[i].call(code, arguments, span, value);
    if ((begins_with(path, "triton.") || begins_with(path, "math.")) && host_function(name))
        return host_call_builtin(code, name, arguments, span, value);
    return host_cannot(code, span, str_format(code->arena, "'%.*s'", STR_ARG(path)));
}
