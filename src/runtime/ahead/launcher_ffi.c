/* The door of tvm-ffi in C files that `tilec compile --emit tvm-ffi` writes, behind
 * launcher_ffi_values.c: where a call goes, its launch, and the errors that say what is wrong. */

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
    for (int32_t at = (int32_t)call->kernel->argument_count, i = 0; at < count; at++, i++) {
        const FfiAny *any = &call->given[at];
        if (any->type != FFI_INT || any->value.integer < 0 || any->value.integer > max_grid[i]) {
            FfiMessage message = {{0}, 0};
            const char axis = (char)('x' + i);
            say(&message, "the grid's %c of '%s' is ", axis, call->kernel->name);
            say_given(&message, any);
            say(&message, ", wanted an integer from 0 to %lld", (long long)max_grid[i]);
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
