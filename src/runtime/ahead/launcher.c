/* The launcher in C files that `tilec compile` writes: src/runtime/launch/launch.c,
 * tensor_maps.c and variants.c once more, for a file that depends on nothing but the C library. It
 * is no part of the library: emit_tables.c copies it as it stands, in front of the tables of
 * kernels, and behind the limits that the library has itself. C11 and C++11 with GCC's or Clang's
 * builtins. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of which a file may use some, or none. */
#define HELPER static inline __attribute__((unused))

enum {
    /* As the header numbers them. */
    LAUNCHED,
    NO_DRIVER,
    NO_CONTEXT,
    NO_VARIANT,
    NO_TENSOR_MAP,
    NO_MEMORY,
    DRIVER_FAILED,
    TOO_MANY_PROGRAMS,
    NO_GRID
};
enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, SM_COUNT = 16, SHARED_OPTIN = 97 };
enum { MAX_DYNAMIC_SHARED = 8, SHARED_WITHOUT_OPT_IN = 48 * 1024, OUT_OF_MEMORY = 2 };

/* What arguments may need of a variant, as a set: no tensor copies; that two may be one array. */
enum { FORM_PLAIN = 1, FORM_IN_PLACE = 2 };

typedef struct TensorMap {
    uint64_t words[16];
} __attribute__((aligned(64))) TensorMap;

/* A tensor map but for what the arguments decide. */
typedef struct Recipe {
    int element, swizzle;
    uint32_t rank;
    int64_t element_bytes;
    uint32_t box[MAX_RANK];
    /* Address, extents and strides from dimension 1 on, both in elements; false: an expression has
     * no result. */
    bool (*evaluate)(const void *const *params, uint64_t *address, uint64_t *extents,
                     uint64_t *strides);
} Recipe;

typedef enum WantKind { ANY, MULTIPLE, FIXED, INTEGER, REAL, TEXT } WantKind;

/* What a variant was compiled for, of an argument. */
typedef struct Want {
    WantKind kind;
    int64_t integer;
    double real;
    const char *text;
} Want;

typedef struct Argument {
    int64_t integer;
    double real;
    const char *text;
} Argument;

/* Two pointers, by the numbers of parameters, that a variant takes to be apart. */
typedef struct Apart {
    uint32_t loaded, stored;
} Apart;

/* A variant in one context. */
typedef struct Loaded {
    struct Loaded *next;
    uint64_t context;
    void *module, *function;
    uint32_t resident; /* blocks of a persistent kernel that the device holds at once */
} Loaded;

typedef struct Variant {
    const char *name;
    const void *code;
    int capability;
    bool is_specific, is_ptx; /* runs on this very capability alone; the driver assembles it */
    uint32_t threads, shared_bytes, programs_per_block;
    bool is_persistent;
    uint32_t grid_parameters;
    const Recipe *recipes;
    uint32_t recipe_count;
    const Apart *apart;
    uint32_t apart_count;
    unsigned forms; /* what it is in the place of a variant beside it */
    const Want *wants;
    Loaded **loaded;
} Variant;

typedef struct Kernel {
    const Variant *variants;
    uint32_t variant_count, argument_count, param_count;
} Kernel;

typedef struct Context {
    struct Context *next;
    uint64_t id;
    int capability, shared_per_block, sm_count;
} Context;

typedef struct Driver {
    int version;
    int (*init)(unsigned);
    int (*driver_version)(int *);
    int (*context_current)(void **);
    int (*context_device)(int *);
    int (*device_attribute)(int *, int, int);
    int (*module_load)(void **, const void *, unsigned, int *, void **);
    int (*module_unload)(void *);
    int (*module_function)(void **, void *, const char *);
    int (*function_set)(void *, int, int);
    int (*occupancy)(int *, void *, int, size_t);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    /* Not used by every file, and looked for when they are. */
    int (*device_count)(int *);
    int (*device_get)(int *, int);
    int (*primary_retain)(void **, int);
    int (*context_push)(void *);
    int (*context_pop)(void **);
    int (*error_name)(int, const char **);
    int (*context_id)(void *, unsigned long long *); /* NULL before CUDA 12.0, as is the next */
    int (*tensor_map_encode)(TensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                             const uint32_t *, const uint32_t *, int, int, int, int);
} Driver;

static pthread_mutex_t launcher_lock = PTHREAD_MUTEX_INITIALIZER; /* of whoever adds to a list */
static Driver *found_driver;
static Context *known_contexts;
static __thread int last_result; /* of the driver */

static bool succeeds(int result) {
    last_result = result;
    return result == 0;
}

/* The driver */

static bool open_driver(Driver *driver) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return false;
#define FIND(field, symbol) *(void **)&driver->field = dlsym(library, symbol)
    FIND(init, "cuInit");
    FIND(driver_version, "cuDriverGetVersion");
    FIND(context_current, "cuCtxGetCurrent");
    FIND(context_device, "cuCtxGetDevice");
    FIND(device_attribute, "cuDeviceGetAttribute");
    FIND(module_load, "cuModuleLoadDataEx");
    FIND(module_unload, "cuModuleUnload");
    FIND(module_function, "cuModuleGetFunction");
    FIND(function_set, "cuFuncSetAttribute");
    FIND(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    FIND(launch, "cuLaunchKernel");
    FIND(device_count, "cuDeviceGetCount");
    FIND(device_get, "cuDeviceGet");
    FIND(primary_retain, "cuDevicePrimaryCtxRetain");
    FIND(context_push, "cuCtxPushCurrent_v2");
    FIND(context_pop, "cuCtxPopCurrent_v2");
    FIND(error_name, "cuGetErrorName");
    FIND(context_id, "cuCtxGetId");
    FIND(tensor_map_encode, "cuTensorMapEncodeTiled");
#undef FIND
    return driver->init && driver->driver_version && driver->context_current &&
           driver->context_device && driver->device_attribute && driver->module_load &&
           driver->module_unload && driver->module_function && driver->function_set &&
           driver->occupancy && driver->launch && succeeds(driver->init(0)) &&
           succeeds(driver->driver_version(&driver->version));
}

/* Found once; a process without one may get it later. */
static const Driver *get_driver(void) {
    Driver *driver = __atomic_load_n(&found_driver, __ATOMIC_ACQUIRE);
    if (driver)
        return driver;
    pthread_mutex_lock(&launcher_lock);
    driver = found_driver;
    if (!driver && (driver = (Driver *)calloc(1, sizeof *driver))) {
        if (open_driver(driver)) {
            __atomic_store_n(&found_driver, driver, __ATOMIC_RELEASE);
        } else {
            free(driver);
            driver = NULL;
        }
    }
    pthread_mutex_unlock(&launcher_lock);
    return driver;
}

/* A context may take the address of one that is gone, but not its number. */
static int current_context(const Driver *driver, uint64_t *id) {
    void *context = NULL;
    unsigned long long number = 0;
    if (!succeeds(driver->context_current(&context)))
        return DRIVER_FAILED;
    if (!context)
        return NO_CONTEXT;
    if (driver->context_id && !succeeds(driver->context_id(context, &number)))
        return DRIVER_FAILED;
    *id = driver->context_id ? number : (uint64_t)(uintptr_t)context;
    return LAUNCHED;
}

static int find_context(const Driver *driver, const Context **found) {
    uint64_t id = 0;
    int status = current_context(driver, &id), device = 0, major = 0, minor = 0;
    if (status)
        return status;
    for (*found = __atomic_load_n(&known_contexts, __ATOMIC_ACQUIRE); *found;
         *found = (*found)->next)
        if ((*found)->id == id)
            return LAUNCHED;
    Context *made = (Context *)calloc(1, sizeof *made);
    if (!made)
        return NO_MEMORY;
    made->id = id;
    if (!succeeds(driver->context_device(&device)) ||
        !succeeds(driver->device_attribute(&major, CAPABILITY_MAJOR, device)) ||
        !succeeds(driver->device_attribute(&minor, CAPABILITY_MINOR, device)) ||
        !succeeds(driver->device_attribute(&made->sm_count, SM_COUNT, device)) ||
        !succeeds(driver->device_attribute(&made->shared_per_block, SHARED_OPTIN, device))) {
        free(made);
        return DRIVER_FAILED;
    }
    made->capability = 10 * major + minor;
    pthread_mutex_lock(&launcher_lock); /* the same twice does no harm */
    made->next = known_contexts;
    __atomic_store_n(&known_contexts, made, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&launcher_lock);
    *found = made;
    return LAUNCHED;
}

/* Which variant: the device's own code, then what promises most, then the first. */

static int device_rank(const Variant *v, const Context *context) {
    const bool same = v->capability == context->capability;
    const bool earlier = !v->is_specific && v->capability <= context->capability;
    if ((int)v->shared_bytes > context->shared_per_block)
        return 0;
    if (v->is_ptx)
        return same || earlier ? v->capability : 0;
    return same || (earlier && v->capability / 10 == context->capability / 10)
               ? 1000 + v->capability
               : 0;
}

/* The literal itself, or what a literal that is a string holds: relu for 'relu'. */
static bool is_literal(const char *literal, const char *text) {
    const size_t len = strlen(text);
    if (strcmp(literal, text) == 0)
        return true;
    return (literal[0] == '\'' || literal[0] == '"') && strlen(literal) == len + 2 &&
           literal[len + 1] == literal[0] && memcmp(literal + 1, text, len) == 0;
}

static bool keeps(const Want *want, const Argument *argument, int *score) {
    switch (want->kind) {
    case ANY:
        return true;
    case MULTIPLE:
        *score += want->integer > 8 ? 4 : 3;
        return argument->integer % want->integer == 0;
    case FIXED:
        *score += 8;
        return argument->integer == want->integer;
    case INTEGER:
        return argument->integer == want->integer;
    case REAL:
        return argument->real == want->real;
    case TEXT:
        return argument->text && is_literal(want->text, argument->text);
    }
    return false;
}

/* What stands beside another variant is for the arguments that need it. */
static bool has_forms(const Variant *v, unsigned forms) {
    const unsigned is = v->forms | (v->recipe_count ? 0 : (unsigned)FORM_PLAIN) |
                        (v->apart_count ? 0 : (unsigned)FORM_IN_PLACE);
    return !(forms & ~is) && !(v->forms & ~forms);
}

static const Variant *choose(const Kernel *kernel, const Context *context,
                             const Argument *arguments, unsigned forms) {
    const Variant *best = NULL;
    int best_rank = 0, best_score = 0;
    for (uint32_t i = 0; i < kernel->variant_count; i++) {
        const Variant *v = &kernel->variants[i];
        const int rank = device_rank(v, context);
        int score = 0;
        uint32_t at = 0;
        if (!rank || !has_forms(v, forms))
            continue;
        while (at < kernel->argument_count && keeps(&v->wants[at], &arguments[at], &score))
            at++;
        if (at < kernel->argument_count ||
            (best && (rank < best_rank || (rank == best_rank && score <= best_score))))
            continue;
        best = v;
        best_rank = rank;
        best_score = score;
    }
    return best;
}

/* Loading */

static int load_function(const Driver *driver, const Variant *v, const Context *context,
                         Loaded *made) {
    int blocks = 0;
    if (!succeeds(driver->module_load(&made->module, v->code, 0, NULL, NULL)))
        return last_result == OUT_OF_MEMORY ? NO_MEMORY : DRIVER_FAILED;
    if (succeeds(driver->module_function(&made->function, made->module, v->name)) &&
        (v->shared_bytes <= SHARED_WITHOUT_OPT_IN ||
         succeeds(
             driver->function_set(made->function, MAX_DYNAMIC_SHARED, (int)v->shared_bytes))) &&
        (!v->is_persistent ||
         succeeds(driver->occupancy(&blocks, made->function, (int)v->threads, v->shared_bytes)))) {
        made->resident = (uint32_t)(context->sm_count > 0 ? context->sm_count : 1) *
                         (uint32_t)(blocks > 0 ? blocks : 1);
        return LAUNCHED;
    }
    const int result = last_result;
    driver->module_unload(made->module);
    last_result = result;
    return DRIVER_FAILED;
}

static Loaded *find_loaded(const Variant *v, const Context *context) {
    Loaded *loaded = __atomic_load_n(v->loaded, __ATOMIC_ACQUIRE);
    while (loaded && loaded->context != context->id)
        loaded = loaded->next;
    return loaded;
}

/* The first launch in a context loads; others that need the same wait for it. */
static int load(const Driver *driver, const Variant *v, const Context *context, Loaded **loaded) {
    int status = LAUNCHED;
    if ((*loaded = find_loaded(v, context)))
        return LAUNCHED;
    pthread_mutex_lock(&launcher_lock);
    if (!(*loaded = find_loaded(v, context))) {
        Loaded *made = (Loaded *)calloc(1, sizeof *made);
        status = made ? load_function(driver, v, context, made) : (int)NO_MEMORY;
        if (status) {
            free(made);
        } else {
            made->context = context->id;
            made->next = *v->loaded;
            __atomic_store_n(v->loaded, made, __ATOMIC_RELEASE);
            *loaded = made;
        }
    }
    pthread_mutex_unlock(&launcher_lock);
    return status;
}

/* Tensor maps. What the driver is given must be what the hardware wants, or the arguments need
 * another form of the kernel. */

static bool strides_in_bytes(const Recipe *recipe, uint64_t *strides) {
    for (uint32_t i = 1; i < recipe->rank; i++) {
        int64_t bytes;
        if (__builtin_mul_overflow((int64_t)strides[i], recipe->element_bytes, &bytes) ||
            bytes <= 0 || bytes % 16 || bytes >= INT64_C(1) << 40)
            return false;
        strides[i] = (uint64_t)bytes;
    }
    strides[0] = (uint64_t)recipe->element_bytes;
    return true;
}

__extension__ typedef unsigned __int128 Wide;

/* Encoders up to CUDA 13.1 set a bit of maps of tensors below 128 KiB that must be clear. */
static void clear_small_tensor_bit(const Driver *driver, const Recipe *recipe,
                                   const uint64_t *extents, const uint64_t *strides,
                                   TensorMap *map) {
    Wide bytes = strides[0];
    for (uint32_t i = 0; i < recipe->rank; i++)
        bytes += (Wide)(extents[i] - 1) * strides[i];
    if (driver->version <= 13010 && bytes < 128 << 10)
        map->words[1] &= ~(UINT64_C(1) << 21);
}

static bool encode(const Driver *driver, const Recipe *recipe, const void *const *params,
                   TensorMap *map) {
    uint64_t address, extents[MAX_RANK] = {0}, strides[MAX_RANK] = {0};
    const uint32_t steps[MAX_RANK] = {1, 1, 1, 1, 1};
    if (!driver->tensor_map_encode || !recipe->evaluate(params, &address, extents, strides) ||
        address % 16 || !strides_in_bytes(recipe, strides))
        return false;
    for (uint32_t i = 0; i < recipe->rank; i++)
        if (!extents[i] || extents[i] > UINT64_C(1) << 31)
            return false;
    if (!succeeds(driver->tensor_map_encode(map, recipe->element, recipe->rank,
                                            (void *)(uintptr_t)address, extents, strides + 1,
                                            recipe->box, steps, 0, recipe->swizzle, 2, 0)))
        return false;
    clear_small_tensor_bit(driver, recipe, extents, strides, map);
    return true;
}

static bool encode_all(const Driver *driver, const Variant *v, const void *const *params,
                       TensorMap *maps) {
    for (uint32_t i = 0; i < v->recipe_count; i++)
        if (!encode(driver, &v->recipes[i], params, &maps[i]))
            return false;
    return true;
}

/* Two pointers that the variant takes to be apart, and that are equal. */
static bool gives_one_array(const Variant *v, const void *const *params) {
    for (uint32_t i = 0; i < v->apart_count; i++) {
        uint64_t loaded, stored;
        memcpy(&loaded, params[v->apart[i].loaded], sizeof loaded);
        memcpy(&stored, params[v->apart[i].stored], sizeof stored);
        if (loaded == stored && loaded)
            return true;
    }
    return false;
}

/* The variant that takes the arguments, and its tensor maps. */
static int find_variant(const Driver *driver, const Kernel *kernel, const Context *context,
                        const Argument *arguments, const void *const *params, TensorMap *maps,
                        const Variant **found) {
    unsigned forms = 0;
    for (;;) {
        const Variant *v = choose(kernel, context, arguments, forms);
        if (!v)
            return forms & FORM_PLAIN ? NO_TENSOR_MAP : NO_VARIANT;
        if (gives_one_array(v, params)) {
            forms |= FORM_IN_PLACE;
        } else if (!encode_all(driver, v, params, maps)) {
            forms |= FORM_PLAIN;
        } else {
            *found = v;
            return LAUNCHED;
        }
    }
}

/* Launching */

static bool count_blocks(const Variant *v, const Loaded *loaded, const uint32_t grid[3],
                         uint32_t blocks[3]) {
    const uint64_t each = v->programs_per_block, plane = (uint64_t)grid[0] * grid[1];
    blocks[0] = (uint32_t)((grid[0] + each - 1) / each);
    blocks[1] = grid[1];
    blocks[2] = grid[2];
    if (!v->is_persistent)
        return true;
    if (plane > MAX_PERSISTENT || plane * grid[2] > MAX_PERSISTENT)
        return false;
    const uint32_t programs = (uint32_t)(plane * grid[2]);
    blocks[0] = programs < loaded->resident ? programs : loaded->resident;
    blocks[1] = blocks[2] = 1;
    return true;
}

static int launch_variant(const Driver *driver, const Kernel *kernel, const Variant *v,
                          const Loaded *loaded, void *stream, const uint32_t grid[3],
                          void *const *params, TensorMap *maps) {
    uint32_t blocks[3], programs[3] = {grid[0], grid[1], grid[2]}, count = kernel->param_count;
    void *all[MAX_PARAMS + 3 + MAX_MAPS];
    if (!count_blocks(v, loaded, grid, blocks))
        return TOO_MANY_PROGRAMS;
    if (count)
        memcpy(all, params, count * sizeof *all);
    for (uint32_t i = 0; i < v->grid_parameters; i++)
        all[count++] = &programs[i];
    for (uint32_t i = 0; i < v->recipe_count; i++)
        all[count++] = &maps[i];
    return succeeds(driver->launch(loaded->function, blocks[0], blocks[1], blocks[2], v->threads, 1,
                                   1, v->shared_bytes, stream, all, NULL))
               ? LAUNCHED
               : DRIVER_FAILED;
}

static int launch(const Kernel *kernel, void *stream, const uint32_t grid[3],
                  const Argument *arguments, void *const *params) {
    const Context *context = NULL;
    TensorMap maps[MAX_MAPS];
    Loaded *loaded = NULL;
    last_result = 0;
    if (!grid[0] || !grid[1] || !grid[2])
        return LAUNCHED;
    const Driver *driver = get_driver();
    if (!driver)
        return NO_DRIVER;
    int status = find_context(driver, &context);
    if (status)
        return status;
    const Variant *v = NULL;
    status =
        find_variant(driver, kernel, context, arguments, (const void *const *)params, maps, &v);
    if (status)
        return status;
    status = load(driver, v, context, &loaded);
    return status ? status : launch_variant(driver, kernel, v, loaded, stream, grid, params, maps);
}

/* Unloads what was loaded in the current context. */
HELPER int unload(const Kernel *kernels, uint32_t count) {
    uint64_t id = 0;
    last_result = 0;
    const Driver *driver = get_driver();
    if (!driver)
        return NO_DRIVER;
    int status = current_context(driver, &id);
    if (status)
        return status;
    pthread_mutex_lock(&launcher_lock);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < kernels[i].variant_count; j++)
            for (Loaded **at = kernels[i].variants[j].loaded; *at;) {
                Loaded *loaded = *at;
                if (loaded->context != id) {
                    at = &loaded->next;
                    continue;
                }
                if (!succeeds(driver->module_unload(loaded->module)))
                    status = DRIVER_FAILED;
                *at = loaded->next;
                free(loaded);
            }
    pthread_mutex_unlock(&launcher_lock);
    return status;
}

/* Parameters of types that C has not. */

typedef struct NarrowType {
    int mantissa, bias; /* bits; of the exponent */
    uint16_t too_large,
        no_number; /* without their sign; the first one follows the largest number */
} NarrowType;

#define NARROW_FP16                                                                                \
    { 10, 15, 0x7c00, 0x7e00 }
#define NARROW_BF16                                                                                \
    { 7, 127, 0x7f80, 0x7fc0 }
#define NARROW_FP8E5                                                                               \
    { 2, 15, 0x7c, 0x7e }
#define NARROW_FP8E4NV                                                                             \
    { 3, 7, 0x7f, 0x7f }

/* The bits of the nearest number of the type, the even one of two. */
HELPER uint16_t narrow_bits(double value, NarrowType type) {
    const int bits = type.bias == 127 || type.mantissa == 10 ? 16 : 8;
    uint64_t wide, rounded, rest, half;
    memcpy(&wide, &value, sizeof wide);
    const int exponent = (int)(wide >> 52 & 0x7ff) - 1023 + type.bias;
    const uint16_t sign = (uint16_t)(wide >> 63 << (bits - 1));
    const uint64_t fraction = (wide & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    const int shift = 52 - type.mantissa + (exponent < 1 ? 1 - exponent : 0);
    if (value != value)
        return sign | type.no_number;
    if (shift > 54) /* less than half of the smallest one, zeros included */
        return sign;
    half = UINT64_C(1) << (shift - 1);
    rest = fraction & (2 * half - 1);
    rounded = fraction >> shift;
    rounded += rest > half || (rest == half && (rounded & 1));
    if (exponent > 1) /* whose last bit `rounded` has */
        rounded += (uint64_t)(exponent - 1) << type.mantissa;
    return sign | (rounded < type.too_large ? (uint16_t)rounded : type.too_large);
}

/* What tensor maps are computed with: numbers of `bits` bits, in words of 64. */

HELPER uint64_t recipe_mask(unsigned bits) {
    return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

HELPER int64_t recipe_extend(unsigned bits, uint64_t value) {
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

HELPER uint64_t recipe_param(const void *param, unsigned bits) {
    uint64_t value = 0;
    memcpy(&value, param, bits < 8 ? 1 : bits / 8);
    return value & recipe_mask(bits);
}

HELPER bool recipe_addptr(unsigned bits, uint64_t pointer, uint64_t index, int64_t element,
                          uint64_t *result) {
    int64_t bytes;
    if (__builtin_mul_overflow(recipe_extend(bits, index), element, &bytes))
        return false;
    *result = pointer + (uint64_t)bytes;
    return bytes < 0 ? *result <= pointer : *result >= pointer;
}
