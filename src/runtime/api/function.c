/* Public API: functions, which choose what to launch by the arguments of a call; their instances.
 *
 * An instance is found by a key: for each argument its kind, type and specialisation, for
 * constexprs their value. Instances hang in a table that is read without a lock, and written under
 * the function's. Where an instance that is missing comes from, a compilation or a bundle, is the
 * function's own concern (FindImage).
 *
 * Instances are made without the lock: threads that want different ones compile in parallel. What
 * is being made stands in a list, where others that want the same find it and wait; if it comes to
 * nothing, each of them tries by itself, and says why.
 *
 * An instance gets another form beside it when arguments come that it does not suit: one without
 * tensor copies for what no tensor map can hold, one that keeps the order of accesses for calls
 * that give one array as two arguments. */
#include "runtime/api/function.h"

#include <errno.h>
#include <time.h>

/* Making an instance */

/* What a thread makes. */
typedef struct Making {
    struct Making *next;
    Call *call;
    const Asked *asked;
    const OtherForm *other; /* which it is; NULL: a first form */
    InstanceImage found;
    Instance *made; /* NULL: not so far, or it cannot be */
    bool is_published;
} Making;

/* Under the lock: among the instance and its other forms. */
static Instance *find_among_forms(Instance *instance, const tile_device *device,
                                  const void *origin) {
    if (!instance || (instance->origin == origin && instance->executable->device == device))
        return instance;
    for (int i = 0; i < 2; i++) {
        Instance *found = find_among_forms(
            atomic_load_explicit(&instance->others[i], memory_order_relaxed), device, origin);
        if (found)
            return found;
    }
    return NULL;
}

/* Under the lock: who has loaded the same on the same device; NULL: nobody. */
static Instance *find_loaded(const KeyTable *table, const tile_device *device, const void *origin) {
    for (size_t i = 0; i < key_table_slots(table); i++) {
        Instance *found = find_among_forms((Instance *)key_table_at(table, i), device, origin);
        if (found)
            return found;
    }
    return NULL;
}

static unsigned forms_of(const Making *m) {
    return m->other ? m->other->instance->forms | (unsigned)m->other->form : 0;
}

/* Loads what was found. False after a report. */
static bool load(Making *m) {
    Call *call = m->call;
    const Asked *asked = m->asked;
    const Packed *packed = asked->packed;
    const InstanceImage *found = &m->found;
    Instance *instance = ARENA_NEW(&call->object, Instance);
    unsigned char *key = arena_alloc(&call->object, packed->key_len);
    memcpy(key, packed->key, packed->key_len);
    instance->entry = (KeyEntry){asked->hash, key, packed->key_len};
    instance->origin = found->origin;
    instance->forms = forms_of(m);
    atomic_init(&instance->others[0], NULL);
    atomic_init(&instance->others[1], NULL);
    const Instance *other = found->origin ? find_loaded(atomic_load(&asked->function->table),
                                                        asked->device, found->origin)
                                          : NULL;
    instance->shares = other != NULL;
    if (other) {
        instance->executable = other->executable;
    } else {
        instance->executable = ARENA_NEW(&call->object, tile_executable);
        instance->executable->context = asked->function->context;
        if (!executable_load(&instance->executable->executable, &call->object, &call->ctx->diags,
                             &asked->device->device, &found->image))
            return false;
        device_hold(asked->device);
        instance->executable->device = asked->device;
    }
    call_keep(call, &instance->arena);
    m->made = instance;
    return true;
}

static void instance_destroy(Instance *instance) {
    if (!instance)
        return;
    if (!instance->shares) {
        executable_unload(&instance->executable->executable);
        device_drop(instance->executable->device);
    }
    Arena arena = instance->arena;
    arena_free(&arena);
}

/* Under the lock, which what is loaded once for several instances is loaded under. */
static void publish(void *user) {
    Making *m = user;
    Call *call = m->call;
    call->object.oom = call->ctx->arena.oom;
    if (!m->made && !load(m))
        return;
    if (m->other) {
        atomic_store_explicit(instance_other(m->other->instance, m->other->form), m->made,
                              memory_order_release);
    } else {
        KeyTable *table = key_table_reserve(&m->asked->function->table, &call->ctx->arena);
        key_table_place(table, &m->made->entry);
    }
    m->is_published = true;
}

static void unlock_published(void *user) {
    Making *m = user;
    m->call->object.oom = m->call->ctx->arena.oom;
    if (!m->is_published) {
        instance_destroy(m->made);
        m->made = NULL;
    }
    pthread_mutex_unlock(&m->asked->function->lock);
}

static void say_why(const Making *m) {
    Ctx *ctx = m->call->ctx;
    const OtherForm *other = m->other;
    const Executable *executable = &other->instance->executable->executable;
    const char *why = executable_explain(executable, &ctx->arena, m->asked->packed->params,
                                         other->form, &other->problem);
    if (other->form == FORM_IN_PLACE)
        ctx_diag(ctx, (Span){0}, in_place_other_form, STR_ARG(executable->name), why);
    else
        ctx_diag(ctx, (Span){0}, tensor_map_other_form, STR_ARG(executable->name), why);
}

static void make(void *user) {
    Making *m = user;
    Call *call = m->call;
    tile_function *function = m->asked->function;
    call->object.oom = call->ctx->arena.oom;
    if (m->other)
        say_why(m);
    if (!function->find(call, m->asked, forms_of(m), &m->found) || (!m->found.origin && !load(m)))
        return;
    pthread_mutex_lock(&function->lock);
    ctx_finally(call->ctx, publish, unlock_published, m);
}

static void end_making(void *user) {
    Making *m = user;
    tile_function *function = m->asked->function;
    m->call->object.oom = m->call->ctx->arena.oom;
    pthread_mutex_lock(&function->lock);
    Making **at = &function->making;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    pthread_cond_broadcast(&function->made);
    pthread_mutex_unlock(&function->lock);
}

/* Waiting for others */

static bool is_same(const Making *a, const Making *b) {
    const Packed *x = a->asked->packed, *y = b->asked->packed;
    const bool same_form = a->other && b->other ? a->other->instance == b->other->instance &&
                                                      a->other->form == b->other->form
                                                : !a->other && !b->other;
    return same_form && a->asked->hash == b->asked->hash && x->key_len == y->key_len &&
           !memcmp(x->key, y->key, x->key_len);
}

/* Under the lock. */
static bool is_being_made(const Making *m) {
    const tile_function *function = m->asked->function;
    const Making *other = function->making;
    while (other && !function->in_turn && !is_same(m, other))
        other = other->next;
    return other != NULL;
}

/* Under the lock. */
static Instance *find_made(const Making *m) {
    return m->other ? atomic_load_explicit(instance_other(m->other->instance, m->other->form),
                                           memory_order_relaxed)
                    : function_find(m->asked);
}

/* Under the lock, until something was made, or for a moment if the call may be cancelled. */
static void wait_for_others(tile_function *function, const Cancel *cancel) {
    enum { MOMENT_NS = 5000000, SECOND_NS = 1000000000 };
    struct timespec until;
    if (!cancel) {
        pthread_cond_wait(&function->made, &function->lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MOMENT_NS;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    pthread_cond_timedwait(&function->made, &function->lock, &until);
}

/* Whether this thread has to make it, which the list says from then on. Else it was made, or the
 * call is cancelled. */
static bool begin_making(Making *m) {
    const Asked *asked = m->asked;
    tile_function *function = asked->function;
    const tile_cancellation *cancellation =
        asked->cancellation ? asked->cancellation : function->cancellation;
    const Cancel *cancel = cancellation ? &cancellation->cancel : NULL;
    bool is_cancelled = false;
    pthread_mutex_lock(&function->lock);
    while (!(m->made = find_made(m)) && is_being_made(m) &&
           !(is_cancelled = cancel_is_requested(cancel)))
        wait_for_others(function, cancel);
    const bool begins = !m->made && !is_cancelled;
    if (begins) {
        m->next = function->making;
        function->making = m;
    }
    pthread_mutex_unlock(&function->lock);
    return begins;
}

tile_status function_make(Call *call, const Asked *asked, const OtherForm *other, Instance **made) {
    Making m = {.call = call, .asked = asked, .other = other};
    if (setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    if (begin_making(&m))
        ctx_finally(call->ctx, make, end_making, &m);
    else if (!m.made)
        return call_end(call, TILE_ERROR_CANCELLED);
    *made = m.made;
    return call_end(call, TILE_OK);
}

/* Forgetting instances */

static bool is_of(const Instance *instance, const tile_executable *executable) {
    bool found = instance->executable == executable;
    for (int i = 0; i < 2 && !found; i++) {
        const Instance *other = atomic_load_explicit(&instance->others[i], memory_order_relaxed);
        found = other && is_of(other, executable);
    }
    return found;
}

/* Under the lock: out of the table, so that the next call makes it anew. */
static bool forget(tile_function *function, const tile_executable *executable) {
    const KeyTable *table = atomic_load(&function->table);
    bool found = false;
    for (const Instance *i = function->forgotten; i && !found; i = i->next)
        found = is_of(i, executable);
    for (size_t i = 0; i < key_table_slots(table); i++) {
        Instance *instance = (Instance *)key_table_at(table, i);
        if (!instance || !is_of(instance, executable))
            continue;
        key_table_remove(&function->table, i);
        instance->next = function->forgotten;
        function->forgotten = instance;
        found = true;
    }
    return found;
}

tile_status tile_function_forget(tile_function *function, const tile_executable *executable) {
    if (!function || !executable)
        return TILE_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&function->lock);
    const bool found = forget(function, executable) ||
                       (function->forget_on_host && function->forget_on_host(function, executable));
    pthread_mutex_unlock(&function->lock);
    return found ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

/* Making and destroying functions */

FixedValues function_constants(Arena *arena, const tile_named *constexprs, size_t count) {
    int64_t *values = ARENA_ARRAY(arena, int64_t, count + 1);
    FixedValues constants = {.values = values};
    for (size_t i = 0; i < count; i++)
        constants.count +=
            special_constexpr(text_str(constexprs[i].value), &values[constants.count]);
    return constants;
}

tile_status function_open(Call *call, tile_function *made, tile_function **function) {
    if (made->param_count > TILE_MAX_ARGUMENTS)
        return TILE_ERROR_INVALID_ARGUMENT;
    atomic_init(&made->table, key_table_create(&call->ctx->arena));
    if (pthread_mutex_init(&made->lock, NULL) || pthread_cond_init(&made->made, NULL)) {
        key_table_free(atomic_load(&made->table));
        return TILE_ERROR_OUT_OF_MEMORY;
    }
    call_keep(call, &made->arena);
    *function = made;
    return TILE_OK;
}

static void destroy_forms(Instance *instance) {
    if (!instance)
        return;
    for (int i = 0; i < 2; i++)
        destroy_forms(atomic_load(&instance->others[i]));
    instance_destroy(instance);
}

void tile_function_destroy(tile_function *function) {
    if (!function)
        return;
    KeyTable *table = atomic_load(&function->table);
    for (size_t i = 0; i < key_table_slots(table); i++)
        if (key_table_at(table, i))
            destroy_forms((Instance *)key_table_at(table, i));
    for (Instance *next, *i = function->forgotten; i; i = next) {
        next = i->next;
        destroy_forms(i);
    }
    key_table_free(table);
    if (function->destroy)
        function->destroy(function);
    pthread_cond_destroy(&function->made);
    pthread_mutex_destroy(&function->lock);
    Arena arena = function->arena;
    arena_free(&arena);
}
