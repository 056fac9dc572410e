/* tile_function_call: instances that are made in parallel. */
#include "api_call_testing.h"

#include <pthread.h>
#include <stdatomic.h>

/* In parallel: a compilation that asks for an import waits until as many do as are expected. */

static const char importing[] = "import triton\nimport triton.language as tl\n"
                                "from helper import twice\n"
                                "@triton.jit\n"
                                "def scale(x, n, factor, BLOCK: tl.constexpr):\n"
                                "    i = tl.arange(0, BLOCK)\n"
                                "    tl.store(x + i, twice(i) * factor, mask=i < n)\n";
static const char helper[] = "import triton\n@triton.jit\ndef twice(x):\n    return x * 2\n";

typedef struct Gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned wanted, inside, most; /* compilations that wait here */
    bool is_open;                  /* nobody waits */
    atomic_uint asked;             /* by compilations */
} Gate;

enum { PATIENCE_SECONDS = 20 };

static void wait_at(Gate *gate) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    pthread_mutex_lock(&gate->lock);
    gate->most = ++gate->inside > gate->most ? gate->inside : gate->most;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open && gate->most < gate->wanted &&
           !pthread_cond_timedwait(&gate->changed, &gate->lock, &until))
        ;
    gate->inside--;
    pthread_mutex_unlock(&gate->lock);
}

/* Until one waits there. */
static void wait_for_one(Gate *gate) {
    pthread_mutex_lock(&gate->lock);
    while (!gate->inside)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void open_gate(Gate *gate) {
    pthread_mutex_lock(&gate->lock);
    gate->is_open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static bool read_helper(void *user, tile_text path, tile_text *found) {
    Gate *gate = user;
    if (path.size < 9 || memcmp(path.data + path.size - 9, "helper.py", 9) != 0)
        return false;
    atomic_fetch_add(&gate->asked, 1);
    wait_at(gate);
    *found = text(helper);
    return true;
}

static tile_compile_options gated(Gate *gate) {
    *gate = (Gate){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    return (tile_compile_options){.size = sizeof(tile_compile_options),
                                  .path = text("scale.py"),
                                  .source = text(importing),
                                  .no_cache = true,
                                  .read_file = read_helper,
                                  .read_user = gate};
}

typedef struct Caller {
    pthread_t thread;
    tile_function *function;
    Scale scale;
    const tile_executable *used;
    tile_status status;
    size_t said;
} Caller;

static void *call_in_thread(void *user) {
    Caller *c = user;
    tile_diagnostics *said = NULL;
    c->status = tile_function_call(c->function, &c->scale.call, &c->used, &said);
    c->said = tile_diagnostics_count(said);
    tile_diagnostics_destroy(said);
    return NULL;
}

static void begin(Caller *c, tile_function *function, tile_device *device, int64_t block,
                  uint32_t steps) {
    scale(&c->scale, device, block, steps);
    c->function = function;
    c->used = NULL;
    assert_int_equal(pthread_create(&c->thread, NULL, call_in_thread, c), 0);
}

static void different_instances_are_made_in_parallel(void **state) {
    enum { CALLERS = 3 };
    Fixture *f = *state;
    Gate gate;
    Caller callers[CALLERS];
    Scale s;
    const tile_compile_options options = gated(&gate);
    tile_device *device = open_device(f);
    tile_function *function = create(f, &options);
    gate.wanted = CALLERS;
    for (int i = 0; i < CALLERS; i++)
        begin(&callers[i], function, device, 64 << i, 0);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    assert_int_equal(gate.most, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(callers[i].status, TILE_OK);
        assert_ptr_equal(callers[i].used,
                         step(function, scale(&s, device, 64 << i, TILE_CALL_FIND)));
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(callers[i].used, callers[k].used);
    }
    assert_int_equal(f->cuda->loads, CALLERS);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Those that write into one folder are not. */
static void instances_with_a_folder_take_turns(void **state) {
    Fixture *f = *state;
    Gate gate;
    Caller callers[2];
    char folder[96];
    tile_compile_options options = gated(&gate);
    tile_device *device = open_device(f);
    snprintf(folder, sizeof folder, "%s/dump", f->folder);
    options.dump_folder = text(folder);
    tile_function *function = create(f, &options);
    gate.wanted = 2;
    begin(&callers[0], function, device, 64, 0);
    wait_for_one(&gate);
    begin(&callers[1], function, device, 128, 0);
    usleep(50000);
    open_gate(&gate);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].status, TILE_OK);
    }
    assert_int_equal(gate.most, 1);
    assert_int_equal(f->cuda->loads, 2);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* While it is made, whoever wants it waits, and whoever looks for it does not. */
static void one_instance_is_made_once(void **state) {
    enum { CALLERS = 4 };
    Fixture *f = *state;
    Gate gate;
    Caller callers[CALLERS];
    Scale s;
    const tile_compile_options options = gated(&gate);
    tile_device *device = open_device(f);
    tile_function *function = create(f, &options);
    gate.wanted = CALLERS;
    begin(&callers[0], function, device, 64, 0);
    wait_for_one(&gate);
    for (int i = 1; i < CALLERS; i++)
        begin(&callers[i], function, device, 64, i % 2 ? TILE_CALL_PREPARE : 0);
    assert_null(step(function, scale(&s, device, 64, TILE_CALL_FIND)));
    assert_null(step(function, scale(&s, device, 64, TILE_CALL_LAUNCH)));
    usleep(20000);
    open_gate(&gate);
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].status, TILE_OK);
        assert_ptr_equal(callers[i].used, callers[0].used);
    }
    assert_int_equal(gate.most, 1);
    assert_int_equal(f->cuda->loads, 1);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* What comes to nothing is said to each of them. */
static void mistakes_are_said_to_everybody(void **state) {
    enum { CALLERS = 3 };
    Fixture *f = *state;
    Gate gate;
    Caller callers[CALLERS];
    const tile_compile_options options = gated(&gate);
    tile_device *device = open_device(f);
    tile_function *function = create(f, &options);
    gate.wanted = CALLERS;
    begin(&callers[0], function, device, 63, 0);
    wait_for_one(&gate);
    for (int i = 1; i < CALLERS; i++)
        begin(&callers[i], function, device, 63, 0);
    usleep(20000);
    open_gate(&gate);
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].status, TILE_ERROR_SOURCE);
        assert_int_equal(callers[i].said, 1);
        assert_null(callers[i].used);
    }
    assert_int_equal(f->cuda->loads, 0);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Whoever waits for another thread is let go by a cancellation of his own. */
static void waiting_can_be_cancelled(void **state) {
    Fixture *f = *state;
    Gate gate;
    Caller maker, waiter;
    const tile_compile_options options = gated(&gate);
    tile_device *device = open_device(f);
    tile_function *function = create(f, &options);
    tile_cancellation *cancellation = NULL;
    assert_int_equal(tile_cancellation_create(&cancellation), TILE_OK);
    gate.wanted = 2;
    begin(&maker, function, device, 64, 0);
    wait_for_one(&gate);
    scale(&waiter.scale, device, 64, 0)->cancellation = cancellation;
    waiter.function = function;
    waiter.used = NULL;
    assert_int_equal(pthread_create(&waiter.thread, NULL, call_in_thread, &waiter), 0);
    usleep(20000);
    tile_cancellation_request(cancellation);
    assert_int_equal(pthread_join(waiter.thread, NULL), 0);
    assert_int_equal(waiter.status, TILE_ERROR_CANCELLED);
    assert_int_equal(waiter.said, 1);
    open_gate(&gate);
    assert_int_equal(pthread_join(maker.thread, NULL), 0);
    assert_int_equal(maker.status, TILE_OK);
    assert_int_equal(f->cuda->loads, 1);
    tile_cancellation_destroy(cancellation);
    tile_function_destroy(function);
    tile_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(different_instances_are_made_in_parallel),
        TEST(instances_with_a_folder_take_turns),
        TEST(one_instance_is_made_once),
        TEST(mistakes_are_said_to_everybody),
        TEST(waiting_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
