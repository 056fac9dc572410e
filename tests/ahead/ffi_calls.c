/* Calls the functions that --emit tvm-ffi wrote of tvm_ffi.json as tvm-ffi's ABI says, on the fake
 * driver with two devices: arguments of every kind, streams and contexts, what fails and what is
 * nonsense. What tvm-ffi's library would do is done here. */
#include "../runtime/fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n%s: %s\n", __FILE__, __LINE__, #condition, kind, message); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

typedef struct Any {
    int32_t type;
    uint32_t small_size;
    union {
        int64_t integer;
        double number;
        const void *pointer;
        char bytes[8];
    };
} Any;

typedef struct Tensor {
    void *data;
    int32_t device_type, device_id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct Object {
    uint64_t count;
    int32_t type;
    uint32_t padding;
    void (*deleter)(void *self, int flags);
} Object;

typedef struct TensorObject {
    Object header;
    Tensor tensor;
} TensorObject;

typedef struct Text {
    const char *data;
    size_t size;
} Text;

typedef struct TextObject {
    Object header;
    Text text;
} TextObject;

typedef struct LargeInt {
    Object header;
    size_t count;
    int64_t words[2];
} LargeInt;

enum { CUDA = 2, MANAGED = 13 };
enum { IS_INT = 1, IS_BOOL, IS_FLOAT, IS_POINTER, IS_TENSOR_POINTER = 7, IS_RAW_TEXT };
enum { IS_MOVED = 10, IS_SMALL_TEXT, IS_TEXT = 65, IS_TENSOR = 70, IS_LARGE_INT = 78 };

int __tvm_ffi_softmax(void *handle, const Any *args, int32_t count, Any *result);
int __tvm_ffi_choices(void *handle, const Any *args, int32_t count, Any *result);
int __tvm_ffi_matmul(void *handle, const Any *args, int32_t count, Any *result);
int __tvm_ffi__doc_matmul(void *handle, const Any *args, int32_t count, Any *result);
void TVMFFIErrorSetRaisedFromCStr(const char *raised, const char *text);
void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);
int TVMFFIStringFromByteArray(const Text *text, Any *result);

static __thread char kind[64], message[2048];
static FakeCuda *cuda;
static char documented[512];

void TVMFFIErrorSetRaisedFromCStr(const char *raised, const char *text) {
    snprintf(kind, sizeof kind, "%s", raised);
    snprintf(message, sizeof message, "%s", text);
}

void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
    CHECK(device_type == CUDA);
    return (void *)(uintptr_t)(0x5000 + device_id);
}

int TVMFFIStringFromByteArray(const Text *text, Any *result) {
    snprintf(documented, sizeof documented, "%.*s", (int)text->size, text->data);
    *result = (Any){.type = IS_TEXT, .pointer = documented};
    return 0;
}

static Any of_int(int64_t value) {
    return (Any){.type = IS_INT, .integer = value};
}

static Tensor tensor_at(uintptr_t address, int device) {
    return (Tensor){.data = (void *)address,
                    .device_type = CUDA,
                    .device_id = device,
                    .code = 2,
                    .bits = 32,
                    .lanes = 1};
}

/* Two tensors of floats, their strides and columns, BLOCK, the grid. */
enum { SOFTMAX_ARGUMENTS = 7 };

static void softmax_arguments(Any *arguments, const Tensor *x, const Tensor *y) {
    const Any given[SOFTMAX_ARGUMENTS] = {{.type = IS_TENSOR_POINTER, .pointer = x},
                                          {.type = IS_TENSOR_POINTER, .pointer = y},
                                          of_int(96),
                                          of_int(112),
                                          of_int(80),
                                          of_int(256),
                                          of_int(5)};
    memcpy(arguments, given, sizeof given);
}

static void begin(void) {
    static const unsigned char bytes[] = {8, 8, 4, 4, 4};
    memset(cuda->param_bytes, 0, sizeof cuda->param_bytes);
    memcpy(cuda->param_bytes, bytes, sizeof bytes);
    cuda->launches = cuda->pushes = cuda->pops = 0;
    kind[0] = message[0] = 0;
}

static int call(int (*function)(void *, const Any *, int32_t, Any *), const Any *arguments,
                int32_t count) {
    Any result = {.type = 0, .integer = -1};
    /* A copy of its own, so that reading behind the last argument is noticed. */
    Any *given = malloc((size_t)count * sizeof *given + 1);
    if (count)
        memcpy(given, arguments, (size_t)count * sizeof *given);
    const int status = function(NULL, given, count, &result);
    free(given);
    CHECK(status == 0 || (status == -1 && kind[0]));
    CHECK(status || (result.type == 0 && result.integer == 0 && !kind[0]));
    CHECK(cuda->pushes == cuda->pops);
    return status;
}

static void expect_launched(int status, uint64_t x, uint64_t y, int device) {
    CHECK(status == 0);
    CHECK(cuda->launches == 1 && cuda->grid[0] * cuda->grid[1] >= 1);
    CHECK(cuda->values[0] == x && cuda->values[1] == y);
    CHECK(cuda->values[2] == 96 && cuda->values[3] == 112 && cuda->values[4] == 80);
    CHECK(cuda->stream == (CUstream)(uintptr_t)(0x5000 + device));
}

static void kinds_of_tensors(void) {
    Tensor x = tensor_at(0x10000, 0), y = tensor_at(0x20000, 0);
    TensorObject object = {.header = {.count = 1, .type = IS_TENSOR}, .tensor = x};
    Any arguments[SOFTMAX_ARGUMENTS];
    y.byte_offset = 64;
    softmax_arguments(arguments, &x, &y);
    begin();
    expect_launched(call(__tvm_ffi_softmax, arguments, 7), 0x10000, 0x20040, 0);
    arguments[0] = (Any){.type = IS_TENSOR, .pointer = &object};
    begin();
    expect_launched(call(__tvm_ffi_softmax, arguments, 7), 0x10000, 0x20040, 0);
    arguments[0] = (Any){.type = IS_POINTER, .pointer = (void *)0x30000};
    begin();
    expect_launched(call(__tvm_ffi_softmax, arguments, 7), 0x30000, 0x20040, 0);
    const void *place = &object, *moved_from = NULL;
    arguments[0] = (Any){.type = IS_MOVED, .pointer = &place};
    begin();
    expect_launched(call(__tvm_ffi_softmax, arguments, 7), 0x10000, 0x20040, 0);
    CHECK(place == &object && object.header.count == 1); /* it was not taken */
    arguments[0].pointer = &moved_from;
    begin();
    CHECK(call(__tvm_ffi_softmax, arguments, 7) == -1 &&
          strstr(message, "'x_ptr' of 'softmax' is None"));
    x = (Tensor){.device_type = CUDA, .code = 2, .bits = 32, .lanes = 1}; /* without elements */
    softmax_arguments(arguments, &x, &y);
    begin();
    expect_launched(call(__tvm_ffi_softmax, arguments, 7), 0, 0x20040, 0);
}

/* On the tensors' device, whatever is current, which stays so. */
static void devices(void) {
    Tensor x = tensor_at(0x10000, 1), y = tensor_at(0x20000, 1);
    Any arguments[SOFTMAX_ARGUMENTS];
    const CUcontext contexts[] = {(CUcontext)0x1046, (CUcontext)0x1047};
    softmax_arguments(arguments, &x, &y);
    for (int current = -1; current < 2; current++) {
        cuda->current = current < 0 ? NULL : contexts[current];
        begin();
        expect_launched(call(__tvm_ffi_softmax, arguments, 7), 0x10000, 0x20000, 1);
        CHECK(cuda->launch_context == contexts[1]);
        CHECK(cuda->pushes == (current != 1));
    }
    CHECK(cuda->retains <= 2);               /* each device's once */
    x.device_type = y.device_type = MANAGED; /* which say no device */
    for (int current = -1; current < 2; current++) {
        cuda->current = current < 0 ? NULL : contexts[current];
        begin();
        expect_launched(call(__tvm_ffi_softmax, arguments, 7), 0x10000, 0x20000, current == 1);
        CHECK(cuda->pushes == (current < 0));
    }
    cuda->current = NULL;
    x.device_type = y.device_type = CUDA;
    y.device_id = 0;
    begin();
    CHECK(call(__tvm_ffi_softmax, arguments, 7) == -1 && !cuda->launches);
    CHECK(strstr(message,
                 "'y_ptr' of 'softmax' is a tensor on cuda:0, and 'x_ptr' is one on cuda:1"));
}

static void texts(void) {
    const Tensor a = {
        .data = (void *)0x10000, .device_type = CUDA, .code = 2, .bits = 16, .lanes = 1};
    static const char relu[] = {'\'', 'r', 'e', 'l', 'u', '\'', 'x'}; /* which no zero ends */
    static char long_text[70000];
    TextObject object = {.header = {.count = 1, .type = IS_TEXT}, .text = {relu, 6}};
    TextObject endless = {.header = {.count = 1, .type = IS_TEXT}, .text = {long_text, 70000}};
    const Any tensor = {.type = IS_TENSOR_POINTER, .pointer = &a};
    Any arguments[10] = {tensor,     tensor,     tensor,      of_int(128), of_int(128),
                         of_int(64), of_int(64), of_int(128), of_int(128)};
    const Any given[] = {{.type = IS_TEXT, .pointer = &object},
                         {.type = IS_RAW_TEXT, .pointer = "none"},
                         {.type = IS_SMALL_TEXT, .small_size = 4, .bytes = "reluxxx"}};
    memset(long_text, 'x', sizeof long_text);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        begin();
        arguments[9] = given[i];
        CHECK(call(__tvm_ffi_matmul, arguments, 10) == 0 && cuda->launches == 1);
    }
    begin();
    arguments[9] = (Any){.type = IS_TEXT, .pointer = &endless};
    CHECK(call(__tvm_ffi_matmul, arguments, 10) == -1);
    CHECK(!strcmp(message,
                  "no variant of 'matmul' for this call: argument 'ACTIVATION' is a string, "
                  "wanted 'none' or 'relu'"));
    Any result;
    CHECK(__tvm_ffi__doc_matmul(NULL, NULL, 0, &result) == 0);
    CHECK(!strcmp(documented,
                  "matmul(a_ptr: float16 tensor, b_ptr: float16 tensor, c_ptr: float16 tensor, "
                  "M: int32, N: int32, K: int32, stride_am: int32, stride_bk: int32, "
                  "stride_cm: int32, ACTIVATION: 'none' | 'relu'), "
                  "grid (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N))"));
}

/* A constexpr that is of every kind: what is given is the literal that was compiled, or none is. */
static void choices(void) {
    static const char text[] = "text";
    const Tensor x = {.data = (void *)0x10000, .device_type = CUDA, .bits = 32, .lanes = 1};
    const LargeInt largest = {
        .header = {.count = 1, .type = IS_LARGE_INT}, .count = 2, .words = {-1}};
    const LargeInt larger = {
        .header = {.count = 1, .type = IS_LARGE_INT}, .count = 2, .words = {-1, 1}};
    const struct {
        Any given;
        const char *refused; /* NULL: it is not */
    } calls[] = {
        {{.type = 0}, NULL},
        {{.type = IS_RAW_TEXT, .pointer = text}, NULL},
        {{.type = IS_BOOL, .integer = 1}, NULL},
        {of_int(-3), NULL},
        {{.type = IS_LARGE_INT, .pointer = &largest}, NULL},
        {{.type = IS_FLOAT, .number = __builtin_inf()}, NULL},
        {{.type = IS_FLOAT, .number = 0.1}, NULL},
        {{.type = IS_FLOAT, .number = 2}, NULL},
        {{.type = IS_LARGE_INT, .pointer = &larger}, "an integer beyond 64 bits"},
        {{.type = IS_BOOL, .integer = 0}, "False"},
        {of_int(2), "2"},
        {{.type = IS_FLOAT, .number = 0.1f}, "0.10000000149011612"},
        {{.type = IS_FLOAT, .number = 1e-7}, "1e-07"},
        {{.type = IS_FLOAT, .number = -0.0}, "-0.0"},
        {{.type = IS_FLOAT, .number = __builtin_nan("")}, "float('nan')"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const Any arguments[] = {{.type = IS_TENSOR_POINTER, .pointer = &x}, calls[i].given};
        char wanted[256];
        begin();
        memset(cuda->param_bytes + 1, 0, sizeof cuda->param_bytes - 1);
        const int status = call(__tvm_ffi_choices, arguments, 2);
        CHECK(status == (calls[i].refused ? -1 : 0) && cuda->launches == (status ? 0 : 1));
        snprintf(wanted, sizeof wanted,
                 "no variant of 'choices' for this call: argument 'HOW' is %s, wanted None or "
                 "'text' or True or -3 or 18446744073709551615 or float('inf') or 0.1 or 2.0",
                 calls[i].refused ? calls[i].refused : "");
        CHECK(!calls[i].refused || !strcmp(message, wanted));
    }
}

/* Every kind of value in the place of every argument: an error or a launch, and nothing is read
 * that is not there. */
static void nonsense(void) {
    const Tensor x = tensor_at(0x10000, 0);
    const Tensor none = {
        .device_type = 99, .device_id = -7, .rank = -1, .code = 255, .bits = 255, .lanes = 65535};
    const TextObject object = {.header = {.count = 1, .type = IS_TEXT}, .text = {"", 0}};
    const TensorObject other = {.header = {.count = 1, .type = IS_TENSOR}, .tensor = none};
    const LargeInt large = {
        .header = {.count = 1, .type = IS_LARGE_INT}, .count = 2, .words = {-1}};
    const void *place = &object;
    for (int at = 0; at < SOFTMAX_ARGUMENTS; at++)
        for (int type = -1; type < 200; type++) {
            Any arguments[SOFTMAX_ARGUMENTS];
            softmax_arguments(arguments, &x, &x);
            arguments[at] = (Any){.type = type, .small_size = 7, .integer = -1};
            if (type == IS_TENSOR_POINTER)
                arguments[at].pointer = &none;
            if (type == IS_TENSOR)
                arguments[at].pointer = &other;
            if (type == IS_TEXT)
                arguments[at].pointer = &object;
            if (type == IS_RAW_TEXT)
                arguments[at].pointer = "";
            if (type == IS_MOVED)
                arguments[at].pointer = &place;
            if (type == IS_LARGE_INT)
                arguments[at].pointer = &large;
            begin();
            const int status = call(__tvm_ffi_softmax, arguments, 7);
            const bool may_pass = (at < 2 && type == IS_POINTER) || (at >= 2 && type == IS_INT);
            CHECK(may_pass || (status == -1 && !cuda->launches));
        }
    for (int32_t count = 0; count < 12; count++) {
        Any arguments[12];
        softmax_arguments(arguments, &x, &x);
        for (int i = SOFTMAX_ARGUMENTS; i < 12; i++)
            arguments[i] = of_int(1);
        begin();
        CHECK(call(__tvm_ffi_softmax, arguments, count) == (count < 7 || count > 9 ? -1 : 0));
    }
}

/* Whatever the driver refuses is an error that says so, and can be tried again. */
static void failures(void) {
    static const char *const symbols[] = {"cuCtxGetCurrent",     "cuDevicePrimaryCtxRetain",
                                          "cuCtxPushCurrent_v2", "cuModuleLoadDataEx",
                                          "cuModuleGetFunction", "cuLaunchKernel"};
    const Tensor x = tensor_at(0x10000, 0);
    Any arguments[SOFTMAX_ARGUMENTS];
    softmax_arguments(arguments, &x, &x);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        begin();
        cuda->fail = symbols[i];
        cuda->fail_result = (CUresult)719;
        CHECK(call(__tvm_ffi_softmax, arguments, 7) == -1 && !strcmp(kind, "RuntimeError"));
        CHECK(!strcmp(message, "'softmax' was not launched: the CUDA driver's error is 719, "
                               "CUDA_ERROR_FAKE"));
    }
    cuda->fail_result = (CUresult)999; /* without a name */
    begin();
    CHECK(call(__tvm_ffi_softmax, arguments, 7) == -1 && strstr(message, "999, an unknown one"));
    cuda->fail = NULL;
    begin();
    CHECK(call(__tvm_ffi_softmax, arguments, 7) == 0);
}

static void *one_of_many(void *user) {
    const Tensor x = tensor_at(0x10000, (int)(intptr_t)user);
    Any arguments[SOFTMAX_ARGUMENTS], result;
    softmax_arguments(arguments, &x, &x);
    for (int i = 0; i < 200; i++) {
        arguments[5] = of_int(i & 1 ? 1024 : 256);
        CHECK(__tvm_ffi_softmax(NULL, arguments, 7, &result) == 0);
    }
    return NULL;
}

/* Loaded once on each device, whoever comes first. */
static void threads(void) {
    pthread_t started[4];
    cuda->loads = 0;
    for (intptr_t i = 0; i < 4; i++)
        CHECK(!pthread_create(&started[i], NULL, one_of_many, (void *)(i & 1)));
    for (int i = 0; i < 4; i++)
        pthread_join(started[i], NULL);
    CHECK(cuda->loads <= 4);
}

/* No code is for such a device. */
static void other_device(void) {
    const Tensor x = tensor_at(0x10000, 1);
    Any arguments[SOFTMAX_ARGUMENTS];
    softmax_arguments(arguments, &x, &x);
    begin();
    CHECK(call(__tvm_ffi_softmax, arguments, 7) == -1 && !strcmp(kind, "RuntimeError"));
    CHECK(!strcmp(message, "no variant of 'softmax' for this device, of capability 7.0"));
}

int main(int argc, char **argv) {
    FakeCudaState *find = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(driver);
    *(void **)&find = dlsym(driver, "fake_cuda_state");
    CHECK(find);
    cuda = find();
    cuda->device_count = 2;
    if (argc > 1 && !strcmp(argv[1], "old")) {
        cuda->major = 7;
        other_device();
        return 0;
    }
    failures();
    kinds_of_tensors();
    devices();
    texts();
    choices();
    nonsense();
    threads();
    return 0;
}
