/* Public API: functions that are compiled when they are called.
 *
 * An instance is found by a key: for each argument its kind, type and specialisation, for
 * constexprs their value. Instances hang in a hash table that only grows: readers follow one atomic
 * pointer and probe without a lock; a writer, under the function's lock, puts a new entry into a
 * free slot or publishes a table of twice the size. Old tables stay until the function goes, since
 * a reader may still probe them.
 *
 * An instance with tensor copies gets another form beside it, without, when arguments come that no
 * tensor map can hold. */
#include "runtime/api/api.h"
#include "runtime/launch/specialise.h"

#include <inttypes.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { KEY_SIZE = 4096, FIRST_SLOTS = 16 };

typedef struct Instance {
    Arena arena;
    uint64_t hash;
    const unsigned char *key;
    size_t key_len;
    tile_executable executable;
    _Atomic(struct Instance *) plain; /* NULL: not needed so far, or this is it */
} Instance;

typedef struct Table {
    struct Table *older;
    Arena arena;
    size_t slots, used; /* slots is a power of two, at least half free */
    _Atomic(Instance *) *entries;
} Table;

struct tile_function {
    Arena arena;
    tile_context *context;
    tile_compile_options options; /* texts in the arena */
    Str *params;                  /* names of the arguments a call takes, in order */
    uint32_t param_count;
    uint32_t required_count; /* of them: those behind have defaults */
    int64_t *constants;      /* integers among the options' constexprs */
    size_t constant_count;
    pthread_mutex_t lock; /* of writers */
    _Atomic(Table *) table;
};

/* A call's arguments as a key and as the values to pass. */
typedef struct Packed {
    unsigned char key[KEY_SIZE];
    size_t key_len;
    uint64_t values[TILE_MAX_ARGUMENTS];
    void *params[TILE_MAX_ARGUMENTS];
    uint32_t count; /* of values */
    uint32_t given; /* arguments of the call */
} Packed;

static const char *const dtype_names[] = {[TILE_DTYPE_AUTO] = "",
#define NAME(id, text, bytes) [id] = text,
                                          TILE_DTYPES(NAME)
#undef NAME
};

enum { DTYPE_COUNT = sizeof dtype_names / sizeof *dtype_names };

/* The integer constexprs of a call, by which its integers are specialised. */
typedef struct Constexprs {
    int64_t values[TILE_MAX_ARGUMENTS];
    size_t count;
} Constexprs;

static bool dtype_is_number(tile_dtype type) {
    return type == TILE_FP8E4NV || type == TILE_FP8E5 || type == TILE_FP16 || type == TILE_BF16 ||
           type == TILE_FP32 || type == TILE_FP64;
}

static tile_dtype integer_type(const tile_argument *argument) {
    if (argument->type != TILE_DTYPE_AUTO)
        return argument->type;
    int64_t v = argument->value.integer;
    return v >= INT32_MIN && v <= INT32_MAX ? TILE_I32 : TILE_I64;
}

static void find_constexprs(const tile_argument *arguments, size_t count, Constexprs *found) {
    found->count = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t *value = &found->values[found->count];
        if (arguments[i].kind == TILE_ARGUMENT_CONSTEXPR_INT)
            *value = arguments[i].value.integer;
        else if (arguments[i].kind != TILE_ARGUMENT_CONSTEXPR ||
                 !special_constexpr(text_str(arguments[i].value.text), value))
            continue;
        found->count++;
    }
}

static Special special_of(const tile_function *function, const tile_argument *argument,
                          const Constexprs *constexprs) {
    if (argument->kind == TILE_ARGUMENT_POINTER)
        return special_of_pointer(argument->value.address);
    if (argument->kind != TILE_ARGUMENT_INT || integer_type(argument) == TILE_I1)
        return (Special){0};
    int64_t value = argument->value.integer;
    Special special = special_of_integer(value, constexprs->values, constexprs->count);
    return special.kind == SPECIAL_FIXED
               ? special
               : special_of_integer(value, function->constants, function->constant_count);
}

static bool key_add(Packed *packed, const void *data, size_t size) {
    if (size > KEY_SIZE - packed->key_len)
        return false;
    memcpy(packed->key + packed->key_len, data, size);
    packed->key_len += size;
    return true;
}

static bool key_head(Packed *packed, unsigned kind, unsigned type, Special special) {
    const unsigned char head[3] = {(unsigned char)kind, (unsigned char)type,
                                   (unsigned char)special.kind};
    return key_add(packed, head, sizeof head) &&
           (special.kind != SPECIAL_FIXED || key_add(packed, &special.value, sizeof special.value));
}

static void pass_value(Packed *packed, const void *value, size_t size) {
    uint64_t *slot = &packed->values[packed->count];
    *slot = 0;
    memcpy(slot, value, size);
    packed->params[packed->count++] = slot;
}

/* The bits of a float argument in its type: Triton passes fp32 and fp64 only; narrower scalars
 * arrive as fp32. */
static bool pass_float(Packed *packed, double number, tile_dtype type) {
    float narrow = (float)number;
    if (type == TILE_FP64)
        pass_value(packed, &number, sizeof number);
    else if (type == TILE_FP32)
        pass_value(packed, &narrow, sizeof narrow);
    else
        return false;
    return true;
}

static bool pack_argument(Packed *packed, const tile_argument *argument, Special special) {
    if ((unsigned)argument->type >= DTYPE_COUNT)
        return false;
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        if (argument->type == TILE_DTYPE_AUTO ||
            !key_head(packed, argument->kind, argument->type, special))
            return false;
        pass_value(packed, &argument->value.address, sizeof argument->value.address);
        return true;
    case TILE_ARGUMENT_INT: {
        tile_dtype type = integer_type(argument);
        uint64_t bits = (uint64_t)argument->value.integer;
        if (dtype_is_number(type) || !key_head(packed, argument->kind, type, special))
            return false;
        pass_value(packed, &bits, sizeof bits);
        return true;
    }
    case TILE_ARGUMENT_FLOAT: {
        tile_dtype type = argument->type == TILE_DTYPE_AUTO ? TILE_FP32 : argument->type;
        return key_head(packed, argument->kind, type, special) &&
               pass_float(packed, argument->value.number, type);
    }
    case TILE_ARGUMENT_CONSTEXPR: {
        uint32_t size = (uint32_t)argument->value.text.size;
        return argument->value.text.size <= KEY_SIZE &&
               key_head(packed, argument->kind, 0, special) &&
               key_add(packed, &size, sizeof size) &&
               key_add(packed, argument->value.text.data, size);
    }
    case TILE_ARGUMENT_CONSTEXPR_INT:
        return key_head(packed, argument->kind, 0, special) &&
               key_add(packed, &argument->value.integer, sizeof argument->value.integer);
    }
    return false;
}

static bool pack(Packed *packed, const tile_function *function, const tile_device *device,
                 const tile_argument *arguments, size_t count) {
    packed->key_len = 0;
    packed->count = 0;
    packed->given = (uint32_t)count;
    if (!key_add(packed, &device, sizeof device))
        return false;
    Constexprs constexprs;
    find_constexprs(arguments, count, &constexprs);
    for (size_t i = 0; i < count; i++)
        if (!pack_argument(packed, &arguments[i], special_of(function, &arguments[i], &constexprs)))
            return false;
    return true;
}

/* The table */

static Instance *table_find(const Table *table, uint64_t hash, const Packed *packed) {
    for (size_t i = hash & (table->slots - 1);; i = (i + 1) & (table->slots - 1)) {
        Instance *entry = atomic_load_explicit(&table->entries[i], memory_order_acquire);
        if (!entry)
            return NULL;
        if (entry->hash == hash && entry->key_len == packed->key_len &&
            memcmp(entry->key, packed->key, packed->key_len) == 0)
            return entry;
    }
}

static void table_place(Table *table, Instance *instance) {
    size_t i = instance->hash & (table->slots - 1);
    while (atomic_load_explicit(&table->entries[i], memory_order_relaxed))
        i = (i + 1) & (table->slots - 1);
    atomic_store_explicit(&table->entries[i], instance, memory_order_release);
    table->used++;
}

/* A table in an arena of its own; out of memory goes to `oom`. */
static Table *table_create(jmp_buf *oom, size_t slots, Table *older) {
    Arena arena = {.oom = oom};
    Table *table = arena_alloc(&arena, sizeof *table + slots * sizeof *table->entries);
    table->older = older;
    table->slots = slots;
    table->entries = (_Atomic(Instance *) *)(table + 1);
    for (size_t i = 0; i < slots; i++)
        atomic_init(&table->entries[i], NULL);
    table->arena = arena;
    table->arena.oom = NULL;
    return table;
}

/* Under the lock: room for one more entry, so that placing it cannot fail. */
static Table *table_reserve(tile_function *function, jmp_buf *oom) {
    Table *table = atomic_load_explicit(&function->table, memory_order_relaxed);
    if (2 * (table->used + 1) <= table->slots)
        return table;
    Table *larger = table_create(oom, 2 * table->slots, table);
    for (size_t i = 0; i < table->slots; i++) {
        Instance *entry = atomic_load_explicit(&table->entries[i], memory_order_relaxed);
        if (entry)
            table_place(larger, entry);
    }
    atomic_store_explicit(&function->table, larger, memory_order_release);
    return larger;
}

/* Making an instance */

static Str argument_type(Arena *arena, const tile_argument *argument, Special special) {
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        return str_from(
            str_format(arena, "*%s%s", dtype_names[argument->type], special_hint(arena, special)));
    case TILE_ARGUMENT_INT:
        return str_from(str_format(arena, "%s%s", dtype_names[integer_type(argument)],
                                   special_hint(arena, special)));
    case TILE_ARGUMENT_FLOAT:
        return argument->type == TILE_FP64 ? STR("fp64") : STR("fp32");
    case TILE_ARGUMENT_CONSTEXPR:
        return text_str(argument->value.text);
    case TILE_ARGUMENT_CONSTEXPR_INT:
        return str_from(str_format(arena, "%" PRId64, argument->value.integer));
    }
    return STR("");
}

static bool is_constexpr(const tile_argument *argument) {
    return argument->kind == TILE_ARGUMENT_CONSTEXPR ||
           argument->kind == TILE_ARGUMENT_CONSTEXPR_INT;
}

/* The function's request with this call's types and constexprs added by name. */
static bool instance_request(Call *call, tile_function *function, tile_device *device,
                             const tile_argument *arguments, uint32_t count,
                             CompileRequest *request) {
    Arena *arena = &call->ctx->arena;
    tile_compile_options options = function->options;
    options.device = device;
    if (!request_from_options(call, function->context, &options, request))
        return false;
    ElaborateRequest *kernel = &request->kernel;
    NamedText *types = ARENA_ARRAY(arena, NamedText, count + 1);
    NamedText *defines = ARENA_ARRAY(arena, NamedText, kernel->define_count + count + 1);
    if (kernel->define_count)
        memcpy(defines, kernel->defines, kernel->define_count * sizeof *defines);
    Constexprs constexprs;
    find_constexprs(arguments, count, &constexprs);
    for (uint32_t i = 0; i < count; i++) {
        Special special = special_of(function, &arguments[i], &constexprs);
        NamedText named = {function->params[i], argument_type(arena, &arguments[i], special)};
        if (is_constexpr(&arguments[i]))
            defines[kernel->define_count++] = named;
        else
            types[kernel->type_count++] = named;
    }
    kernel->types = types;
    kernel->defines = defines;
    return request->target != NULL;
}

/* What a call asks for, and with what. */
typedef struct Asked {
    tile_function *function;
    tile_device *device;
    const tile_argument *arguments;
    const Packed *packed;
    uint64_t hash; /* of the key */
} Asked;

/* Compiles and loads; NULL after a report. */
static Instance *instance_create(Call *call, const Asked *asked, bool no_tensor_copies) {
    const Packed *packed = asked->packed;
    CompileRequest request;
    Compiled compiled;
    if (!instance_request(call, asked->function, asked->device, asked->arguments, packed->given,
                          &request))
        return NULL;
    request.no_tensor_copies |= no_tensor_copies;
    if (!compile_kernel(call->ctx, &request, &compiled))
        return NULL;
    Instance *instance = ARENA_NEW(&call->object, Instance);
    unsigned char *key = arena_alloc(&call->object, packed->key_len);
    memcpy(key, packed->key, packed->key_len);
    instance->hash = asked->hash;
    instance->key = key;
    instance->key_len = packed->key_len;
    instance->executable.context = asked->function->context;
    atomic_init(&instance->plain, NULL);
    const KernelImage image = compiled_image(&call->ctx->arena, &compiled);
    if (!executable_load(&instance->executable.executable, &call->object, &call->ctx->diags,
                         &asked->device->device, &image))
        return NULL;
    call_keep(call, &instance->arena);
    return instance;
}

/* Under the lock: the instance, made unless another thread did meanwhile. */
static Instance *first_form(Call *call, const Asked *asked) {
    tile_function *function = asked->function;
    Instance *found = table_find(atomic_load(&function->table), asked->hash, asked->packed);
    if (found)
        return found;
    Table *table = table_reserve(function, &call->ctx->oom);
    found = instance_create(call, asked, false);
    if (found)
        table_place(table, found);
    return found;
}

/* Under the lock: its form without tensor copies; the remark comes when it is made. */
static Instance *plain_form(Call *call, const Asked *asked, Instance *instance,
                            const TensorMapProblem *problem) {
    Instance *plain = atomic_load_explicit(&instance->plain, memory_order_relaxed);
    if (plain)
        return plain;
    const Executable *executable = &instance->executable.executable;
    ctx_diag(call->ctx, (Span){0}, tensor_map_other_form, STR_ARG(executable->name),
             executable_explain(executable, &call->ctx->arena, asked->packed->params, problem));
    plain = instance_create(call, asked, true);
    atomic_store_explicit(&instance->plain, plain, memory_order_release);
    return plain;
}

/* The slow way: one thread compiles, the others that want the same find it when they get the lock.
 * `instance` is NULL for the first form; else its other form is made, because of `problem`. */
static tile_status make_form(const Asked *asked, Instance *instance,
                             const TensorMapProblem *problem, tile_diagnostics **diagnostics,
                             Instance **made) {
    tile_function *function = asked->function;
    Call *call = call_begin(function->context, diagnostics);
    if (!call)
        return TILE_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&function->lock);
    if (setjmp(call->ctx->oom)) {
        pthread_mutex_unlock(&function->lock);
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    }
    *made = instance ? plain_form(call, asked, instance, problem) : first_form(call, asked);
    pthread_mutex_unlock(&function->lock);
    return call_end(call, TILE_OK);
}

static tile_status launch_plain(const Asked *asked, Instance *instance, const uint32_t grid[3],
                                tile_stream stream, TensorMapProblem *problem,
                                tile_diagnostics **diagnostics) {
    Instance *plain = atomic_load_explicit(&instance->plain, memory_order_acquire);
    if (!plain) {
        tile_status status = make_form(asked, instance, problem, diagnostics, &plain);
        if (status != TILE_OK)
            return status;
    }
    return status_of_result(executable_launch(&plain->executable.executable, grid, (CUstream)stream,
                                              asked->packed->params, problem));
}

/* Why pack refuses an argument. */
static const char *explain_argument(Arena *arena, const tile_argument *argument) {
    if ((unsigned)argument->kind > TILE_ARGUMENT_CONSTEXPR_INT)
        return str_format(arena, "there is no kind %d", (int)argument->kind);
    if ((unsigned)argument->type >= DTYPE_COUNT)
        return str_format(arena, "there is no type %d", (int)argument->type);
    const char *type = dtype_names[argument->type];
    if (argument->kind == TILE_ARGUMENT_POINTER)
        return "a pointer needs the type of what it points at";
    if (argument->kind == TILE_ARGUMENT_INT)
        return str_format(arena, "an integer cannot be passed as %s", type);
    if (argument->kind == TILE_ARGUMENT_FLOAT)
        return str_format(arena, "a number is passed as fp32 or fp64, not as %s", type);
    return "this call's constexprs are too long";
}

/* What is wrong with a call whose arguments were not packed: their number, or one that alone, with
 * those before it, is refused. */
static tile_status refuse_arguments(const Asked *asked, Packed *packed, size_t count,
                                    tile_diagnostics **diagnostics) {
    const tile_function *function = asked->function;
    Call *call = call_begin(function->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    Str name = text_str(function->options.kernel);
    if (count < function->required_count || count > function->param_count) {
        ctx_diag(call->ctx, (Span){0}, call_argument_count, STR_ARG(name), function->required_count,
                 function->param_count, count);
        return call_end(call, TILE_ERROR_INVALID_ARGUMENT);
    }
    size_t good = 0;
    while (good < count && pack(packed, function, asked->device, asked->arguments, good + 1))
        good++;
    if (good < count)
        ctx_diag(call->ctx, (Span){0}, call_argument, good + 1, STR_ARG(function->params[good]),
                 STR_ARG(name), explain_argument(&call->ctx->arena, &asked->arguments[good]));
    return call_end(call, TILE_ERROR_INVALID_ARGUMENT);
}

/* Packs the arguments, and finds or makes their instance; `asked` keeps what they point at. */
static tile_status find_instance(Asked *asked, Packed *packed, size_t count,
                                 tile_diagnostics **diagnostics, Instance **instance) {
    tile_function *function = asked->function;
    if (!function || !asked->device || (count && !asked->arguments))
        return TILE_ERROR_INVALID_ARGUMENT;
    if (count < function->required_count || count > function->param_count ||
        !pack(packed, function, asked->device, asked->arguments, count))
        return refuse_arguments(asked, packed, count, diagnostics);
    asked->packed = packed;
    asked->hash = XXH3_64bits(packed->key, packed->key_len);
    *instance = table_find(atomic_load_explicit(&function->table, memory_order_acquire),
                           asked->hash, packed);
    if (!*instance) {
        tile_status status = make_form(asked, NULL, NULL, diagnostics, instance);
        if (status != TILE_OK)
            return status;
    }
    return (*instance)->executable.executable.param_count == packed->count ? TILE_OK
                                                                           : TILE_ERROR_INTERNAL;
}

tile_status tile_function_launch(tile_function *function, tile_device *device,
                                 const uint32_t grid[3], tile_stream stream,
                                 const tile_argument *arguments, size_t argument_count,
                                 tile_diagnostics **diagnostics) {
    Asked asked = {.function = function, .device = device, .arguments = arguments};
    Packed packed;
    Instance *instance;
    if (diagnostics)
        *diagnostics = NULL;
    if (!grid)
        return TILE_ERROR_INVALID_ARGUMENT;
    tile_status status = find_instance(&asked, &packed, argument_count, diagnostics, &instance);
    if (status != TILE_OK)
        return status;
    TensorMapProblem problem;
    CUresult result = executable_launch(&instance->executable.executable, grid, (CUstream)stream,
                                        packed.params, &problem);
    return result == LAUNCH_NO_TENSOR_MAP
               ? launch_plain(&asked, instance, grid, stream, &problem, diagnostics)
               : status_of_result(result);
}

tile_status tile_function_instance(tile_function *function, tile_device *device,
                                   const tile_argument *arguments, size_t argument_count,
                                   const tile_executable **executable,
                                   tile_diagnostics **diagnostics) {
    Asked asked = {.function = function, .device = device, .arguments = arguments};
    Packed packed;
    Instance *instance;
    if (diagnostics)
        *diagnostics = NULL;
    if (!executable)
        return TILE_ERROR_INVALID_ARGUMENT;
    tile_status status = find_instance(&asked, &packed, argument_count, diagnostics, &instance);
    if (status == TILE_OK)
        *executable = &instance->executable;
    return status;
}

/* Making and destroying functions */

static tile_text keep_text(Arena *arena, Str text) {
    return text_of((Str){str_dup(arena, text), text.len});
}

static const tile_text *keep_texts(Arena *arena, const tile_text *texts, size_t count) {
    tile_text *kept = ARENA_ARRAY(arena, tile_text, count + 1);
    for (size_t i = 0; i < count; i++)
        kept[i] = keep_text(arena, text_str(texts[i]));
    return kept;
}

static void keep_options(Arena *arena, tile_function *function, const CompileRequest *request,
                         const tile_compile_options *options, Str source, Str kernel) {
    function->options = *options;
    function->options.path = keep_text(arena, str_from(request->path));
    function->options.source = keep_text(arena, source);
    function->options.kernel = keep_text(arena, kernel);
    function->options.dump_folder = keep_text(arena, text_str(options->dump_folder));
    function->options.search_paths =
        keep_texts(arena, options->search_paths, options->search_path_count);
    function->options.warnings = keep_texts(arena, options->warnings, options->warning_count);
    tile_named *constexprs = ARENA_ARRAY(arena, tile_named, options->constexpr_count + 1);
    for (size_t i = 0; i < options->constexpr_count; i++) {
        constexprs[i].name = keep_text(arena, text_str(options->constexprs[i].name));
        constexprs[i].value = keep_text(arena, text_str(options->constexprs[i].value));
    }
    function->options.constexprs = constexprs;
    function->constants = ARENA_ARRAY(arena, int64_t, options->constexpr_count + 1);
    for (size_t i = 0; i < options->constexpr_count; i++)
        function->constant_count += special_constexpr(
            text_str(constexprs[i].value), &function->constants[function->constant_count]);
}

static bool is_set(const tile_compile_options *options, Str name) {
    for (size_t i = 0; i < options->constexpr_count; i++)
        if (str_eq(text_str(options->constexprs[i].name), name))
            return true;
    return false;
}

static void keep_params(Arena *arena, tile_function *function, const FuncDef *def,
                        const tile_compile_options *options) {
    function->params = ARENA_ARRAY(arena, Str, def->param_count + 1);
    for (uint32_t i = 0; i < def->param_count; i++) {
        Str name = def->params[i].name;
        if (is_set(options, name))
            continue;
        function->params[function->param_count++] = (Str){str_dup(arena, name), name.len};
        if (!def->params[i].default_value)
            function->required_count = function->param_count;
    }
}

static tile_status build_function(Call *call, tile_context *context,
                                  const tile_compile_options *options, tile_function **function) {
    CompileRequest request;
    if (options->signature.size || options->type_count || options->target.size ||
        !request_from_options(call, context, options, &request))
        return TILE_ERROR_INVALID_ARGUMENT;
    uint32_t file;
    const AstFile *syntax = compile_parse(call->ctx, request.path, request.text, &file);
    if (!syntax)
        return TILE_OK;
    const FuncDef *def = frontend_find_kernel(call->ctx, syntax, request.kernel.kernel);
    if (!def)
        return TILE_OK;
    Arena *arena = &call->object;
    tile_function *made = ARENA_NEW(arena, tile_function);
    made->context = context;
    keep_options(arena, made, &request, options, source_get(&call->ctx->sources, file)->text,
                 def->name);
    keep_params(arena, made, def, options);
    if (made->param_count > TILE_MAX_ARGUMENTS)
        return TILE_ERROR_INVALID_ARGUMENT;
    if (pthread_mutex_init(&made->lock, NULL))
        return TILE_ERROR_OUT_OF_MEMORY;
    atomic_init(&made->table, table_create(&call->ctx->oom, FIRST_SLOTS, NULL));
    call_keep(call, &made->arena);
    *function = made;
    return TILE_OK;
}

tile_status tile_function_create(tile_context *context, const tile_compile_options *given,
                                 tile_function **function, tile_diagnostics **diagnostics) {
    tile_compile_options options;
    if (!context || !function || !given ||
        !options_copy(&options, sizeof options, given, sizeof options.size))
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, build_function(call, context, &options, function));
}

static void instance_destroy(Instance *instance) {
    if (!instance)
        return;
    executable_unload(&instance->executable.executable);
    Arena arena = instance->arena;
    arena_free(&arena);
}

void tile_function_destroy(tile_function *function) {
    if (!function)
        return;
    Table *table = atomic_load(&function->table);
    for (size_t i = 0; i < table->slots; i++) {
        Instance *instance = atomic_load(&table->entries[i]);
        if (!instance)
            continue;
        instance_destroy(atomic_load(&instance->plain));
        instance_destroy(instance);
    }
    while (table) {
        Arena arena = table->arena;
        table = table->older;
        arena_free(&arena);
    }
    pthread_mutex_destroy(&function->lock);
    Arena arena = function->arena;
    arena_free(&arena);
}
