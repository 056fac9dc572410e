/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions: kernels that are compiled when they are called, and the arguments of calls. */
#ifndef TILEC_FUNCTION_H
#define TILEC_FUNCTION_H
#include "compile.h"
#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types: X(name, Triton's name, bytes). */
#define TILE_DTYPES(X)                                                                             \
    X(TILE_I1, "i1", 1)                                                                            \
    X(TILE_I8, "i8", 1)                                                                            \
    X(TILE_I16, "i16", 2)                                                                          \
    X(TILE_I32, "i32", 4)                                                                          \
    X(TILE_I64, "i64", 8)                                                                          \
    X(TILE_U8, "u8", 1)                                                                            \
    X(TILE_U16, "u16", 2)                                                                          \
    X(TILE_U32, "u32", 4)                                                                          \
    X(TILE_U64, "u64", 8)                                                                          \
    X(TILE_FP8E4NV, "fp8e4nv", 1)                                                                  \
    X(TILE_FP8E5, "fp8e5", 1)                                                                      \
    X(TILE_FP16, "fp16", 2)                                                                        \
    X(TILE_BF16, "bf16", 2)                                                                        \
    X(TILE_FP32, "fp32", 4)                                                                        \
    X(TILE_FP64, "fp64", 8)                                                                        \
    X(TILE_FP8E4B15, "fp8e4b15", 1)                                                                \
    X(TILE_FP8E4B8, "fp8e4b8", 1)                                                                  \
    X(TILE_FP8E5B16, "fp8e5b16", 1)

typedef enum tile_dtype {
    TILE_DTYPE_AUTO, /* of numbers: i32, else i64, else u64 by value; fp32; i1 */
#define TILE_DTYPE_ENUM(name, text, bytes) name,
    TILE_DTYPES(TILE_DTYPE_ENUM)
#undef TILE_DTYPE_ENUM
} tile_dtype;

typedef enum tile_argument_kind {
    TILE_ARGUMENT_POINTER,       /* address, with the type of what it points at */
    TILE_ARGUMENT_INT,           /* integer */
    TILE_ARGUMENT_FLOAT,         /* number: fp32; fp64, fp16, bf16 by type, rounded to nearest */
    TILE_ARGUMENT_CONSTEXPR,     /* text: a Python literal */
    TILE_ARGUMENT_CONSTEXPR_INT, /* integer, without the way through text */
    TILE_ARGUMENT_TUPLE,         /* tuple: of arguments */
    TILE_ARGUMENT_DESCRIPTOR,    /* descriptor */
} tile_argument_kind;

/* A tensor that a kernel reads and writes in blocks, desc.load([i, j]): what
 * tl.make_tensor_descriptor makes in kernels, and TensorDescriptor in Triton's hosts. Rows begin at
 * multiples of 16 bytes. */
typedef struct tile_descriptor {
    size_t size;
    uint64_t address; /* of the first element, a multiple of 16 */
    uint64_t bytes;   /* from there on; 0: not known */
    tile_dtype type;
    int32_t rank;       /* 1 to 5 */
    int64_t shape[5];   /* 1 to 2^31 - 1 elements */
    int64_t strides[5]; /* in elements; the last is 1, in bytes others are multiples of 16 */
    int32_t block[5];   /* powers of two; the last dimension of a block has at least 16 bytes */
    bool pads_with_nan; /* what is loaded from beyond the tensor, else 0 */
} tile_descriptor;

typedef struct tile_argument tile_argument;
struct tile_argument {
    tile_argument_kind kind;
    tile_dtype type;
    union {
        uint64_t address;
        struct {
            uint64_t address;
            uint64_t bytes; /* from there on; 0: not known */
        } memory;           /* of pointers */
        int64_t integer;    /* u64: its bits */
        double number;
        tile_text text;
        struct {
            const tile_argument *items; /* tuples again, at most 64 deep */
            uint32_t count;
            uint32_t record; /* of a named tuple: the number of its class among the options' units,
                                and 1; 0: it has no names */
        } tuple;
        const tile_descriptor *descriptor;
    } value;
};

static inline tile_argument tile_pointer(uint64_t address, tile_dtype element) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_POINTER;
    argument.type = element;
    argument.value.memory.address = address;
    argument.value.memory.bytes = 0;
    return argument;
}
/* A pointer to memory of a known size, which functions that are tuned need to know of what they
 * reset or put back between runs. */
static inline tile_argument tile_buffer(uint64_t address, tile_dtype element, uint64_t bytes) {
    tile_argument argument = tile_pointer(address, element);
    argument.value.memory.bytes = bytes;
    return argument;
}
static inline tile_argument tile_int(int64_t value) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_INT;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.integer = value;
    return argument;
}
static inline tile_argument tile_float(double value) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_FLOAT;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.number = value;
    return argument;
}
static inline tile_argument tile_constexpr(tile_text literal) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_CONSTEXPR;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.text = literal;
    return argument;
}
static inline tile_argument tile_constexpr_int(int64_t value) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_CONSTEXPR_INT;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.integer = value;
    return argument;
}
/* A tuple, whose items are read during the call and nothing is kept of. They are specialised as
 * arguments are, whatever @triton.jit is told of the parameter; None is a constexpr. */
static inline tile_argument tile_tuple(const tile_argument *items, uint32_t count) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_TUPLE;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.tuple.items = items;
    argument.value.tuple.count = count;
    argument.value.tuple.record = 0;
    return argument;
}
/* A named tuple, of the class that is unit `unit` of the function's options. */
static inline tile_argument tile_record(const tile_argument *items, uint32_t count, uint32_t unit) {
    tile_argument argument = tile_tuple(items, count);
    argument.value.tuple.record = unit + 1;
    return argument;
}
/* The descriptor is read during the call. Instances differ by its type, block and padding, and by
 * whether its last extent is a multiple of 8 or 16. */
static inline tile_argument tile_tensor(const tile_descriptor *descriptor) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_DESCRIPTOR;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.descriptor = descriptor;
    return argument;
}

/* A pointer to what a DLPack tensor holds, as torch, JAX, NumPy and others hand them out: address
 * (data and byte_offset), element type, and the size where its elements fill one stretch of memory,
 * in whatever order of the dimensions; of others, such as slices, it is not known. `tensor` is a
 * `const DLTensor *` of dlpack.h, of any version: include that yourself, its structures have no
 * tags that could be declared here. It is read during the call, and nothing is kept of it; its
 * memory must stay, and belong to it, until launches with the argument have run: who has a
 * DLManagedTensor calls its deleter behind them. Order with other streams is the caller's.
 *
 * TILE_ERROR_INVALID_ARGUMENT, with a diagnostic: elements that no kernel has (complex numbers,
 * several lanes, less than a byte), memory that is neither this device's (kDLCUDA; kDLCPU of a
 * device that is this machine) nor managed nor pinned (kDLCUDAManaged, kDLCUDAHost), a shape that
 * is none, elements without memory. Any thread; where nothing is wrong the call takes no memory and
 * no lock. */
TILE_API tile_status tile_argument_from_dlpack(tile_device *device, const void *tensor,
                                               tile_argument *argument,
                                               tile_diagnostics **diagnostics);

enum {
    TILE_MAX_ARGUMENTS = 256
}; /* of a call, and values that it passes, those in tuples included */

/* Reads and parses the source. `options` as for tile_compile; signature, types and target stay
 * empty, constexprs given here hold for every call, and so does the cancellation: from its request
 * on, calls that would have to compile end with TILE_ERROR_CANCELLED. The context must outlive the
 * function. */
TILE_API tile_status tile_function_create(tile_context *context,
                                          const tile_compile_options *options,
                                          tile_function **function, tile_diagnostics **diagnostics);
TILE_API void tile_function_destroy(tile_function *function);

/* Calls the function: one argument for each parameter that the options did not set, in order; those
 * behind the last one without a default may be left out. The instance for these types and values is
 * looked up without a lock; when it is missing it is taken from the cache or compiled, and other
 * threads that need the same one meanwhile wait. It is specialised as Triton does, on pointers and
 * integers that are multiples of 16 and integers equal to 1, and on integers equal to an integer
 * constexpr, of the call or of the options, that is at least 16: where a row's length is BLOCK, its
 * masks go away. What @triton.jit is told not to specialise on is not.
 *
 * Parameters that @triton.heuristics set are no arguments of the call, and neither are those that
 * the options' constexprs set, which win; docs/language.md says which lambdas are evaluated.
 * Nor are those that @triton.autotune sets: the first call of each key measures its configurations,
 * by many launches with these arguments on this stream, and waits for them; docs/tuning.md.
 *
 * `grid` may be NULL where the options say one.
 *
 * Arguments that the tensor maps of an instance cannot hold, such as a stride of 0, are launched by
 * its other form, without tensor copies, which is made when it is first needed (a remark says why)
 * and kept.
 *
 * TILE_ERROR_INVALID_ARGUMENT, with a diagnostic: too few or too many arguments, or one whose kind
 * or type does not go together. */
TILE_API tile_status tile_function_launch(tile_function *function, tile_device *device,
                                          const uint32_t grid[3], tile_stream stream,
                                          const tile_argument *arguments, size_t argument_count,
                                          tile_diagnostics **diagnostics);
/* The same with options, as tile_launch_with; they may be NULL. */
TILE_API tile_status tile_function_launch_with(tile_function *function, tile_device *device,
                                               const uint32_t grid[3], tile_stream stream,
                                               const tile_argument *arguments,
                                               size_t argument_count,
                                               const tile_launch_options *options,
                                               tile_diagnostics **diagnostics);
/* What a call does, in this order. */
typedef enum tile_call_step {
    TILE_CALL_FIND = 1,    /* looks for the instance, which every call does */
    TILE_CALL_PREPARE = 2, /* makes what is missing: compiles and loads, and measures what is tuned.
                              Without it that is TILE_ERROR_NOT_COMPILED, of which nothing is said,
                              and the call takes no lock that a compilation holds */
    TILE_CALL_LAUNCH = 4,
} tile_call_step;

/* A call with all that can be said of it; zeros say nothing. */
typedef struct tile_call {
    size_t size;
    tile_device *device;
    const uint32_t *grid; /* three programs counts; NULL where the function's options say one */
    tile_stream stream;
    const tile_argument *arguments;
    size_t argument_count;
    const tile_launch_options *launch; /* NULL: none */
    const tile_host_array *arrays; /* that the kernel may touch, on a device that is this machine;
                                      others do not look at them */
    size_t array_count;
    tile_cancellation *cancellation; /* of this call, in place of the function's: ends its
                                              compilation, and its run on a device that is this
                                              machine. NULL: the function's */
    uint32_t steps;                  /* of tile_call_step; 0: all */
    tile_text entry_name; /* what the kernel is called in its code, if this call makes it, in
                             place of what the function's options say; empty: as they say */
} tile_call;

/* Calls the function as tile_function_launch_with does, on a GPU or on a device that is this
 * machine (tile_device_open_host), as far as the steps go. `used` (may be NULL): the instance that
 * is used, in the form that takes these arguments; NULL where there is none so far, where the call
 * fails, and where nothing was to be launched. It stays the function's. Of a device that is this
 * machine it is a handle, for tile_function_forget and for telling instances apart, and there a
 * launch may also make the other form, since the arguments are known to need it only then.
 *
 * Different instances are made in parallel by the threads that want them, but those of a function
 * with a dump_folder one by one. */
TILE_API tile_status tile_function_call(tile_function *function, const tile_call *call,
                                        const tile_executable **used,
                                        tile_diagnostics **diagnostics);
/* The kernel that such a call would use, compiled or taken from the cache, with the outputs of
 * `want` (TILE_WANT) besides those of the function's options; of a device that is this machine
 * with PTX and these. Nothing is loaded or launched, but for what is tuned, which is measured
 * first. It is the form without tensor copies if the function has an instance of the call, and that
 * needs it. Functions of bundles have code alone. Destroyed by the caller. Steps, arrays and launch
 * options mean nothing. */
TILE_API tile_status tile_function_kernel(tile_function *function, const tile_call *call,
                                          uint32_t want, tile_kernel **kernel,
                                          tile_diagnostics **diagnostics);
/* From here on calls that would use the instance make it anew, in both of its forms; `executable`
 * is either. It stays valid, and may be launching, until the function is destroyed; what was chosen
 * by measuring stays, too. TILE_ERROR_INVALID_ARGUMENT: it is none of the function. */
TILE_API tile_status tile_function_forget(tile_function *function,
                                          const tile_executable *executable);
/* The instance that such a call would use, compiled if needed: tile_function_call with
 * TILE_CALL_PREPARE, on GPUs alone. It belongs to the function. */
TILE_API tile_status tile_function_instance(tile_function *function, tile_device *device,
                                            const tile_argument *arguments, size_t argument_count,
                                            const tile_executable **executable,
                                            tile_diagnostics **diagnostics);

#ifdef __cplusplus
}
#endif
#endif
