/* What functions of tvm-ffi are called with, in C files that `tilec compile --emit tvm-ffi` writes,
 * behind launcher.c: as arguments of a kernel, and in words. The structures are those of tvm-ffi's
 * and DLPack's C ABI, as far as they are used. */
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
static bool is_large_u64(const FfiAny *any, int64_t *bits) {
    const int64_t *words = any->type == FFI_LARGE_INT ? (const int64_t *)inside(any) : NULL;
    if (!words || words[0] != 2 || words[2] != 0)
        return false;
    *bits = words[1];
    return true;
}

/* The shortest literal of Python that is this number, whatever the process has for a decimal
 * point. */
static int write_real(char *to, size_t room, double value) {
    char digits[40];
    int precision = 1;
    if (value - value != 0)
        return snprintf(to, room, "float('%s')",
                        value != value ? "nan"
                        : value > 0    ? "inf"
                                       : "-inf");
    do
        snprintf(digits, sizeof digits, "%.*g", precision, value);
    while (strtod(digits, NULL) != value && ++precision <= 17);
    char *point = digits + strspn(digits, "-0123456789");
    char *behind = point + strcspn(point, "0123456789e");
    if (*point == 'e' || *behind == 0)
        return snprintf(to, room, *point ? "%s" : "%s.0", digits);
    *point = 0;
    return snprintf(to, room, "%s.%s", digits, behind);
}

/* A constexpr's value as the literal that a source has for it; true, also of what is too long to be
 * one: it is none that was compiled. */
static bool take_text(FfiCall *call, const FfiAny *any, Argument *argument) {
    char *to = call->texts + call->text_size;
    const size_t room = sizeof call->texts - call->text_size;
    const FfiBytes *bytes = any->type == FFI_TEXT ? (const FfiBytes *)inside(any) : NULL;
    int64_t bits = 0;
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
        size = write_real(to, room, any->value.real);
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
    case FFI_LARGE_INT:
        size = is_large_u64(any, &bits) ? snprintf(to, room, "%llu", (unsigned long long)bits) : -1;
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
        if (param->bits == 64 && is_large_u64(any, &argument->integer))
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
