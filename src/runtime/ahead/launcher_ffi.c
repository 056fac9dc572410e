/* The door of tvm-ffi in C files that `tilec compile --emit tvm-ffi` writes, behind launcher.c:
 * what a function is called with becomes arguments of a kernel, or an error that says what is
 * wrong. The structures are those of tvm-ffi's and DLPack's C ABI, as far as they are used. */
#include <stdarg.h>
#include <stdio.h>

typedef struct FfiTensor {
    void *data;
    int32_t device_type, device_id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides;
    uint64_t byte_offset;
} FfiTensor;

typedef struct FfiBytes {
    const char *data;
    size_t size;
} FfiBytes;

typedef union FfiValue {
    int64_t integer;
    double real;
    void *pointer;
    char bytes[8];
} FfiValue;

typedef struct FfiAny {
    int32_t type;
    uint32_t size; /* of a small string */
    FfiValue value;
} FfiAny;

enum { /* of FfiAny */
       FFI_NONE = 0,
       FFI_INT = 1,
       FFI_BOOL = 2,
       FFI_FLOAT = 3,
       FFI_POINTER = 4,
       FFI_TENSOR_POINTER = 7,
       FFI_RAW_TEXT = 8,
       FFI_MOVED = 10, /* the place of an object that the function may keep */
       FFI_SMALL_TEXT = 11,
       FFI_TEXT = 65,
       FFI_TENSOR = 70,
       FFI_LARGE_INT = 78 /* of more than 64 bits: words, the lowest first, behind their number */
};
/* Of objects: where the number of their type is, and what they hold. */
enum { FFI_OBJECT_TYPE = 8, FFI_HEADER = 24 };
enum { ON_CPU = 1, ON_CUDA = 2, ON_CUDA_HOST = 3, ON_CUDA_MANAGED = 13 };

#ifdef __cplusplus
extern "C" {
#endif
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);
int TVMFFIStringFromByteArray(const FfiBytes *text, FfiAny *result);
#ifdef __cplusplus
}
#endif

typedef enum FfiKind {
    TAKES_TENSOR, /* of `code` and `bits`, or a pointer that nobody knows more of */
    TAKES_SIGNED, /* integers of `bits` */
    TAKES_UNSIGNED,
    TAKES_BOOL,      /* i1: also 0 and 1 */
    TAKES_FLOAT,     /* of `code` and `bits` */
    CHOOSES_INTEGER, /* constexprs */
    CHOOSES_BOOL,
    CHOOSES_REAL,
    CHOOSES_TEXT
} FfiKind;

typedef struct FfiParam {
    FfiKind kind;
    uint8_t code, bits;
    const char *type; /* for messages: "float32" */
} FfiParam;

/* A row of `kernels`, by the types of its arguments. */
typedef struct FfiGroup {
    const Kernel *kernel;
    const FfiParam *params;                                    /* one for each argument */
    bool (*grid)(const Argument *arguments, uint32_t grid[3]); /* NULL: the call says it */
} FfiGroup;

typedef struct FfiKernel {
    const char *name, *doc;
    const char *const *names; /* of the arguments */
    const FfiGroup *groups;
    uint32_t group_count, argument_count;
} FfiKernel;

enum { FFI_MESSAGE = 1024, FFI_TEXTS = 2048 };

/* The arguments of a call as a group takes them. */
typedef struct FfiCall {
    const FfiKernel *kernel;
    const FfiAny *given;
    Argument arguments[MAX_PARAMS];
    uint64_t values[MAX_PARAMS]; /* what params point at */
    void *params[MAX_PARAMS];
    char texts[FFI_TEXTS]; /* what Argument.text points at */
    size_t text_size;
} FfiCall;

/* Messages */

typedef struct FfiMessage {
    char text[FFI_MESSAGE];
    size_t size;
} FfiMessage;

/* What does not fit is left out. */
__attribute__((format(printf, 2, 3))) static void say(FfiMessage *message, const char *format,
                                                      ...) {
    va_list values;
    va_start(values, format);
    const size_t room = sizeof message->text - message->size;
    const int size = vsnprintf(message->text + message->size, room, format, values);
    va_end(values);
    if (size > 0)
        message->size += (size_t)size < room ? (size_t)size : room - 1;
}

static int raise_error(const char *kind, const FfiMessage *message) {
    TVMFFIErrorSetRaisedFromCStr(kind, message->text);
    return -1;
}

/* The Nth of several that may stand there. */
static void say_or(FfiMessage *message, uint32_t number) {
    if (number)
        say(message, " or ");
}

/* What is behind an object's header. */
static const void *inside(const FfiAny *any) {
    return (const char *)any->value.pointer + FFI_HEADER;
}

static const FfiTensor *tensor_of(const FfiAny *any) {
    if (any->type == FFI_TENSOR_POINTER)
        return (const FfiTensor *)any->value.pointer;
    if (any->type == FFI_TENSOR)
        return (const FfiTensor *)inside(any);
    return NULL;
}

static void say_type(FfiMessage *message, const FfiTensor *tensor) {
    static const struct {
        uint8_t code, bits;
        const char *name;
    } types[] = {FFI_TYPES};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == tensor->code && types[i].bits == tensor->bits && tensor->lanes == 1) {
            say(message, "%s", types[i].name);
            return;
        }
    say(message, "DLPack's type %u with %u bits in %u lanes", tensor->code, tensor->bits,
        tensor->lanes);
}

static void say_given(FfiMessage *message, const FfiAny *any) {
    const FfiTensor *tensor = tensor_of(any);
    switch (any->type) {
    case FFI_NONE:
        say(message, "None");
        return;
    case FFI_INT:
        say(message, "%lld", (long long)any->value.integer);
        return;
    case FFI_BOOL:
        say(message, any->value.integer ? "True" : "False");
        return;
    case FFI_FLOAT:
        say(message, "the float %g", any->value.real);
        return;
    case FFI_LARGE_INT:
        say(message, "an integer beyond 64 bits");
        return;
    case FFI_POINTER:
        say(message, "a pointer");
        return;
    case FFI_RAW_TEXT:
    case FFI_SMALL_TEXT:
    case FFI_TEXT:
        say(message, "a string");
        return;
    }
    if (!tensor) {
        say(message, "an object of tvm-ffi's type %d", any->type);
        return;
    }
    say(message, "a tensor of ");
    say_type(message, tensor);
}

static void say_wanted(FfiMessage *message, const FfiParam *param) {
    switch (param->kind) {
    case TAKES_TENSOR:
        say(message, "a tensor of %s", param->type);
        return;
    case TAKES_SIGNED:
    case TAKES_UNSIGNED:
        say(message, "an integer (%s)", param->type);
        return;
    case TAKES_BOOL:
    case CHOOSES_BOOL:
        say(message, "a bool");
        return;
    case TAKES_FLOAT:
        say(message, "a number (%s)", param->type);
        return;
    case CHOOSES_INTEGER:
        say(message, "an integer");
        return;
    case CHOOSES_REAL:
        say(message, "a number");
        return;
    case CHOOSES_TEXT:
        say(message, "a string, number or None");
        return;
    }
}

/* Arguments */

static bool fits(int64_t value, const FfiParam *param) {
    if (param->kind == TAKES_UNSIGNED)
        return value >= 0 && (param->bits >= 63 || value >> param->bits == 0);
    return param->bits >= 64 || value >> (param->bits - 1) == (value < 0 ? -1 : 0);
}

/* An integer from 2^63 on that 64 bits hold without a sign. */
static bool is_large_u64(const FfiAny *any, const FfiParam *param, int64_t *bits) {
    const int64_t *words = (const int64_t *)inside(any);
    if (any->type != FFI_LARGE_INT || param->bits < 64 || words[0] != 2 || words[2] != 0)
        return false;
    *bits = words[1];
    return true;
}

/* A constexpr's value as the literal that a source has for it; true, also of what is too long to be
 * one: it is none that was compiled. */
static bool take_text(FfiCall *call, const FfiAny *any, Argument *argument) {
    char *to = call->texts + call->text_size;
    const size_t room = sizeof call->texts - call->text_size;
    const FfiBytes *bytes = (const FfiBytes *)inside(any);
    int size = -1;
    switch (any->type) {
    case FFI_NONE:
        size = snprintf(to, room, "None");
        break;
    case FFI_INT:
        size = snprintf(to, room, "%lld", (long long)any->value.integer);
        break;
    case FFI_BOOL:
        size = snprintf(to, room, any->value.integer ? "True" : "False");
        break;
    case FFI_FLOAT:
        size = snprintf(to, room, "%.17g", any->value.real);
        break;
    case FFI_RAW_TEXT:
        size = snprintf(to, room, "%s", (const char *)any->value.pointer);
        break;
    case FFI_SMALL_TEXT:
        size = snprintf(to, room, "%.*s", (int)any->size, any->value.bytes);
        break;
    case FFI_TEXT:
        size =
            snprintf(to, room, "%.*s", (int)(bytes->size < room ? bytes->size : room), bytes->data);
        break;
    default:
        return false;
    }
    const bool is_whole = size >= 0 && (size_t)size < room;
    argument->text = is_whole ? to : NULL;
    call->text_size += is_whole ? (size_t)size + 1 : 0;
    return true;
}

static bool take_tensor(const FfiAny *any, const FfiParam *param, Argument *argument) {
    const FfiTensor *tensor = tensor_of(any);
    if (any->type == FFI_POINTER) {
        argument->integer = (int64_t)(uintptr_t)any->value.pointer;
        return true;
    }
    if (!tensor || tensor->code != param->code || tensor->bits != param->bits || tensor->lanes != 1)
        return false;
    argument->integer = (int64_t)((uint64_t)(uintptr_t)tensor->data + tensor->byte_offset);
    return true;
}

static uint64_t float_bits(double value, const FfiParam *param) {
    static const NarrowType types[] = {NARROW_FP16, NARROW_BF16, NARROW_FP8E5, NARROW_FP8E4NV};
    const float single = (float)value;
    uint64_t bits = 0;
    if (param->bits == 64)
        memcpy(&bits, &value, sizeof value);
    else if (param->bits == 32)
        memcpy(&bits, &single, sizeof single);
    else
        bits = narrow_bits(value, types[param->bits == 16   ? param->code == 4
                                        : param->code == 12 ? 2
                                                            : 3]);
    return bits;
}

/* False: the parameter takes no such argument. `count`: values so far. */
static bool take(FfiCall *call, const FfiParam *param, const FfiAny *any, Argument *argument,
                 uint32_t *count) {
    const bool is_number = any->type == FFI_INT || any->type == FFI_FLOAT;
    memset(argument, 0, sizeof *argument);
    if (any->type == FFI_INT || any->type == FFI_BOOL)
        argument->integer = any->value.integer;
    if (is_number)
        argument->real = any->type == FFI_INT ? (double)any->value.integer : any->value.real;
    switch (param->kind) {
    case TAKES_TENSOR:
        if (!take_tensor(any, param, argument))
            return false;
        break;
    case TAKES_UNSIGNED:
        if (is_large_u64(any, param, &argument->integer))
            break;
        /* fall through */
    case TAKES_SIGNED:
        if (any->type != FFI_INT || !fits(any->value.integer, param))
            return false;
        break;
    case TAKES_BOOL:
        if (any->type != FFI_BOOL && (any->type != FFI_INT || any->value.integer >> 1 != 0))
            return false;
        break;
    case TAKES_FLOAT:
        if (!is_number)
            return false;
        break;
    case CHOOSES_INTEGER:
        return any->type == FFI_INT;
    case CHOOSES_BOOL:
        return any->type == FFI_BOOL;
    case CHOOSES_REAL:
        return is_number;
    case CHOOSES_TEXT:
        return take_text(call, any, argument);
    }
    /* The first bytes of an integer are the value's: little-endian. */
    call->values[*count] = param->kind == TAKES_FLOAT ? float_bits(argument->real, param)
                                                      : (uint64_t)argument->integer;
    call->params[*count] = &call->values[*count];
    *count += 1;
    return true;
}

/* The first argument that the group does not take, or their number. */
static uint32_t take_all(FfiCall *call, const FfiGroup *group) {
    uint32_t values = 0;
    call->text_size = 0;
    for (uint32_t i = 0; i < call->kernel->argument_count; i++)
        if (!take(call, &group->params[i], &call->given[i], &call->arguments[i], &values))
            return i;
    return call->kernel->argument_count;
}

/* Errors of calls */

static int refuse_count(const FfiKernel *kernel, int32_t given) {
    FfiMessage message = {{0}, 0};
    const bool has_grid = kernel->groups[0].grid != NULL;
    say(&message, "'%s' takes %u arguments%s, and %d were given: %s", kernel->name,
        kernel->argument_count, has_grid ? "" : " and one to three for the grid", given,
        kernel->doc);
    return raise_error("TypeError", &message);
}

static bool same_want(const FfiParam *a, const FfiParam *b) {
    return a->kind == b->kind && a->code == b->code && a->bits == b->bits;
}

/* No group takes argument `at`, and none gets further. */
static int refuse_argument(FfiCall *call, uint32_t at) {
    const FfiKernel *kernel = call->kernel;
    FfiMessage message = {{0}, 0};
    uint32_t said = 0;
    say(&message, "argument '%s' of '%s' is ", kernel->names[at], kernel->name);
    say_given(&message, &call->given[at]);
    say(&message, ", wanted ");
    for (uint32_t i = 0; i < kernel->group_count; i++) {
        const FfiParam *param = &kernel->groups[i].params[at];
        bool is_new = take_all(call, &kernel->groups[i]) == at;
        for (uint32_t j = 0; is_new && j < i; j++)
            is_new = take_all(call, &kernel->groups[j]) != at ||
                     !same_want(param, &kernel->groups[j].params[at]);
        if (!is_new)
            continue;
        say_or(&message, said++);
        say_wanted(&message, param);
    }
    return raise_error("TypeError", &message);
}

static void say_want(FfiMessage *message, const Want *want) {
    switch (want->kind) {
    case ANY:
        return;
    case MULTIPLE:
        say(message, "a multiple of %lld", (long long)want->integer);
        return;
    case FIXED:
    case INTEGER:
        say(message, "%lld", (long long)want->integer);
        return;
    case REAL:
        say(message, "%g", want->real);
        return;
    case TEXT:
        say(message, "%s", want->text);
        return;
    }
}

/* The first argument that does not keep what the variant wants. */
static uint32_t first_broken(const FfiCall *call, const Kernel *kernel, const Variant *v) {
    int score = 0;
    uint32_t at = 0;
    while (at < kernel->argument_count && keeps(&v->wants[at], &call->arguments[at], &score))
        at++;
    return at;
}

static void say_value(FfiMessage *message, const FfiCall *call, const FfiParam *param,
                      uint32_t at) {
    if (param->kind == TAKES_TENSOR)
        say(message, "at 0x%llx", (unsigned long long)call->arguments[at].integer);
    else if (param->kind == CHOOSES_TEXT && call->arguments[at].text)
        say(message, "%s", call->arguments[at].text);
    else
        say_given(message, &call->given[at]);
}

static bool same_value(const Want *a, const Want *b) {
    return a->kind == b->kind && a->integer == b->integer && a->real == b->real &&
           (a->kind != TEXT || strcmp(a->text, b->text) == 0);
}

/* The types fit, and no variant of the group does: by the argument that most others go before. */
static int refuse_variants(FfiCall *call, const FfiGroup *group, const Context *context) {
    const Kernel *kernel = group->kernel;
    FfiMessage message = {{0}, 0};
    uint32_t furthest = 0, said = 0;
    bool any = false;
    take_all(call, group);
    say(&message, "no variant of '%s' for ", call->kernel->name);
    for (uint32_t i = 0; i < kernel->variant_count; i++)
        if (device_rank(&kernel->variants[i], context)) {
            const uint32_t at = first_broken(call, kernel, &kernel->variants[i]);
            furthest = any && furthest > at ? furthest : at;
            any = true;
        }
    if (!any || furthest == kernel->argument_count) {
        say(&message, "this device, of capability %d.%d", context->capability / 10,
            context->capability % 10);
        return raise_error("RuntimeError", &message);
    }
    say(&message, "this call: argument '%s' is ", call->kernel->names[furthest]);
    say_value(&message, call, &group->params[furthest], furthest);
    say(&message, ", wanted ");
    for (uint32_t i = 0; i < kernel->variant_count; i++) {
        const Variant *v = &kernel->variants[i];
        const Want *want = &v->wants[furthest];
        bool is_new = device_rank(v, context) && first_broken(call, kernel, v) == furthest;
        for (uint32_t j = 0; is_new && j < i; j++)
            is_new = !device_rank(&kernel->variants[j], context) ||
                     first_broken(call, kernel, &kernel->variants[j]) != furthest ||
                     !same_value(want, &kernel->variants[j].wants[furthest]);
        if (!is_new)
            continue;
        say_or(&message, said++);
        say_want(&message, want);
    }
    return raise_error("ValueError", &message);
}

static int refuse_launch(const FfiKernel *kernel, const Driver *driver, int status) {
    FfiMessage message = {{0}, 0};
    const char *name = NULL;
    say(&message, "'%s' was not launched: ", kernel->name);
    switch (status) {
    case NO_DRIVER:
        say(&message, "there is no usable CUDA driver (libcuda.so.1)");
        break;
    case NO_TENSOR_MAP:
        say(&message, "its tensor maps cannot hold the arguments, and no variant goes without");
        break;
    case NO_MEMORY:
        say(&message, "out of memory");
        break;
    case TOO_MANY_PROGRAMS:
        say(&message, "a persistent kernel runs at most 2^30 programs");
        break;
    case NO_GRID:
        say(&message, "its grid cannot be computed for these arguments, or is none");
        break;
    default:
        if (!driver || !driver->error_name || driver->error_name(last_result, &name) || !name)
            name = "an unknown one";
        say(&message, "the CUDA driver's error is %d, %s", last_result, name);
    }
    return raise_error(status == NO_GRID || status == TOO_MANY_PROGRAMS || status == NO_TENSOR_MAP
                           ? "ValueError"
                           : "RuntimeError",
                       &message);
}

/* Where */

static bool refuse_device(const FfiKernel *kernel, uint32_t at, const FfiTensor *tensor,
                          const char *first, int32_t device) {
    FfiMessage message = {{0}, 0};
    say(&message, "argument '%s' of '%s' is a tensor on ", kernel->names[at], kernel->name);
    if (tensor->device_type == ON_CUDA)
        say(&message, "cuda:%d, and '%s' is one on cuda:%d", tensor->device_id, first, device);
    else if (tensor->device_type == ON_CPU)
        say(&message, "cpu, wanted one on cuda");
    else
        say(&message, "a device of DLPack's type %d, wanted one on cuda", tensor->device_type);
    raise_error("ValueError", &message);
    return false;
}

/* The device of the tensors; -1: none says one. */
static bool find_device(const FfiCall *call, int32_t *device) {
    const char *first = NULL;
    *device = -1;
    for (uint32_t i = 0; i < call->kernel->argument_count; i++) {
        const FfiTensor *tensor = tensor_of(&call->given[i]);
        if (!tensor || tensor->device_type == ON_CUDA_HOST ||
            tensor->device_type == ON_CUDA_MANAGED)
            continue;
        if (tensor->device_type != ON_CUDA || (first && *device != tensor->device_id))
            return refuse_device(call->kernel, i, tensor, first, *device);
        first = first ? first : call->kernel->names[i];
        *device = tensor->device_id;
    }
    return true;
}

/* Primary contexts of devices, kept from their first use to the end of the process. */
typedef struct FfiPrimary {
    struct FfiPrimary *next;
    int32_t device;
    void *context;
} FfiPrimary;

static FfiPrimary *known_primaries;

static FfiPrimary *find_primary(int32_t device) {
    FfiPrimary *primary = __atomic_load_n(&known_primaries, __ATOMIC_ACQUIRE);
    while (primary && primary->device != device)
        primary = primary->next;
    return primary;
}

static int retain_primary(const Driver *driver, int32_t ordinal, void **context) {
    int status = LAUNCHED, device = 0;
    FfiPrimary *primary = find_primary(ordinal);
    if (!primary) {
        pthread_mutex_lock(&launcher_lock);
        primary = find_primary(ordinal);
        if (!primary && !(primary = (FfiPrimary *)calloc(1, sizeof *primary))) {
            status = NO_MEMORY;
        } else if (!primary->context) {
            primary->device = ordinal;
            if (succeeds(driver->device_get(&device, ordinal)) &&
                succeeds(driver->primary_retain(&primary->context, device))) {
                primary->next = known_primaries;
                __atomic_store_n(&known_primaries, primary, __ATOMIC_RELEASE);
            } else {
                free(primary);
                status = DRIVER_FAILED;
            }
        }
        pthread_mutex_unlock(&launcher_lock);
    }
    if (!status)
        *context = primary->context;
    return status;
}

/* The number of a device; 0 for one that has none. */
static int find_ordinal(const Driver *driver, int device, int32_t *ordinal) {
    int count = 0, other = 0;
    *ordinal = 0;
    if (!succeeds(driver->device_count(&count)))
        return DRIVER_FAILED;
    for (int32_t i = 0; i < count; i++) {
        if (!succeeds(driver->device_get(&other, i)))
            return DRIVER_FAILED;
        *ordinal = other == device ? i : *ordinal;
    }
    return LAUNCHED;
}

/* Makes a context of the device current, unless one is. Without a device (-1) that of the current
 * context is meant, else the first. */
static int enter(const Driver *driver, int32_t *ordinal, bool *pushed) {
    void *context = NULL;
    int current = 0, wanted = 0;
    *pushed = false;
    last_result = 0;
    if (!driver->device_count || !driver->device_get || !driver->primary_retain ||
        !driver->context_push || !driver->context_pop)
        return NO_DRIVER;
    if (!succeeds(driver->context_current(&context)) ||
        (context && !succeeds(driver->context_device(&current))))
        return DRIVER_FAILED;
    if (context && *ordinal < 0)
        return find_ordinal(driver, current, ordinal);
    *ordinal = *ordinal < 0 ? 0 : *ordinal;
    if (!succeeds(driver->device_get(&wanted, *ordinal)))
        return DRIVER_FAILED;
    if (context && current == wanted)
        return LAUNCHED;
    const int status = retain_primary(driver, *ordinal, &context);
    if (status)
        return status;
    *pushed = succeeds(driver->context_push(context));
    return *pushed ? LAUNCHED : (int)DRIVER_FAILED;
}

static void leave(const Driver *driver, bool pushed) {
    void *context;
    const int result = last_result;
    if (pushed)
        driver->context_pop(&context);
    last_result = result;
}

/* Calls */

static bool take_grid(const FfiCall *call, int32_t count, uint32_t grid[3]) {
    static const int64_t most[] = {0x7fffffff, 65535, 65535};
    for (int32_t at = (int32_t)call->kernel->argument_count, i = 0; at < count; at++, i++) {
        const FfiAny *any = &call->given[at];
        if (any->type != FFI_INT || any->value.integer < 0 || any->value.integer > most[i]) {
            FfiMessage message = {{0}, 0};
            say(&message, "the grid's %c of '%s' is ", "xyz"[i], call -> kernel -> name);
            say_given(&message, any);
            say(&message, ", wanted an integer from 0 to %lld", (long long)most[i]);
            raise_error(any->type == FFI_INT ? "ValueError" : "TypeError", &message);
            return false;
        }
        grid[i] = (uint32_t)any->value.integer;
    }
    return true;
}

/* Whether some group takes the arguments; else an error was raised. */
static bool check_types(FfiCall *call) {
    uint32_t furthest = 0;
    for (uint32_t i = 0; i < call->kernel->group_count; i++) {
        const uint32_t taken = take_all(call, &call->kernel->groups[i]);
        if (taken == call->kernel->argument_count)
            return true;
        furthest = furthest > taken ? furthest : taken;
    }
    refuse_argument(call, furthest);
    return false;
}

/* In the device's context: by the first group that has a variant for the call. */
static int launch_groups(FfiCall *call, const Driver *driver, void *stream, uint32_t grid[3]) {
    const FfiKernel *kernel = call->kernel;
    const FfiGroup *nearest = NULL;
    for (uint32_t i = 0; i < kernel->group_count; i++) {
        const FfiGroup *group = &kernel->groups[i];
        if (take_all(call, group) < kernel->argument_count)
            continue;
        if (group->grid && !group->grid(call->arguments, grid))
            return refuse_launch(kernel, driver, NO_GRID);
        const int status = launch(group->kernel, stream, grid, call->arguments, call->params);
        if (!status)
            return 0;
        if (status != NO_VARIANT)
            return refuse_launch(kernel, driver, status);
        nearest = nearest ? nearest : group;
    }
    const Context *context = NULL;
    const int status = find_context(driver, &context);
    return status ? refuse_launch(kernel, driver, status) : refuse_variants(call, nearest, context);
}

/* Objects instead of the places that they may be moved from. */
static const FfiAny *without_places(const FfiAny *given, int32_t count, FfiAny *plain) {
    bool any = false;
    for (int32_t i = 0; i < count; i++) {
        void *object = NULL;
        plain[i] = given[i];
        if (given[i].type != FFI_MOVED)
            continue;
        any = true;
        memcpy(&object, given[i].value.pointer, sizeof object);
        plain[i].type = FFI_NONE;
        plain[i].value.pointer = object;
        if (object)
            memcpy(&plain[i].type, (char *)object + FFI_OBJECT_TYPE, sizeof plain[i].type);
    }
    return any ? plain : given;
}

static int ffi_call(const FfiKernel *kernel, const FfiAny *given, int32_t count, FfiAny *result) {
    FfiCall call;
    FfiAny plain[MAX_PARAMS + 3];
    uint32_t grid[3] = {1, 1, 1};
    int32_t device;
    bool pushed;
    const bool has_grid = kernel->groups[0].grid != NULL;
    const int32_t least = (int32_t)kernel->argument_count + !has_grid;
    if (count < least || count > (has_grid ? least : least + 2))
        return refuse_count(kernel, count);
    call.kernel = kernel;
    call.given = without_places(given, count, plain);
    if (!find_device(&call, &device) || !check_types(&call) ||
        (!has_grid && !take_grid(&call, count, grid)))
        return -1;
    const Driver *driver = get_driver();
    int status = driver ? enter(driver, &device, &pushed) : (int)NO_DRIVER;
    if (status)
        return refuse_launch(kernel, driver, status);
    status = launch_groups(&call, driver, TVMFFIEnvGetStream(ON_CUDA, device), grid);
    leave(driver, pushed);
    memset(result, 0, sizeof *result);
    return status;
}

/* What the functions are documented by. */
static int ffi_doc(const FfiKernel *kernel, FfiAny *result) {
    const FfiBytes text = {kernel->doc, strlen(kernel->doc)};
    return TVMFFIStringFromByteArray(&text, result);
}
