/* The remote cache against a real Redis server, and against what is none: it is right or it holds
 * nothing, whatever becomes of the server. */
#include "cache_testing.h"
#include "redis_testing.h"
#include "runtime/cache/lease.h"
#include "runtime/cache/redis.h"
#include "tilec.h"

#include <pthread.h>
#include <semaphore.h>

#define PLAIN "--port", ""

__attribute__((format(printf, 4, 5))) static Remote *
open_remote(Fixture *f, const char *key, const char *ca, const char *format, ...) {
    char url[256];
    const char *trouble = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(url, sizeof url, format, arguments);
    va_end(arguments);
    /* Enough for a loaded machine. */
    Remote *remote = remote_open(
        f->arena, &(RemoteConfig){.url = url, .key = key, .ca = ca, .time_limit_ms = 2000},
        &trouble);
    if (!remote)
        fail_msg("%s", trouble);
    return remote;
}

static Remote *open_plain(Fixture *f, const Server *server) {
    return open_remote(f, NULL, NULL, "redis://127.0.0.1:%d/test", server->port);
}

static bool holds(Fixture *f, Remote *remote, const char *name, Str expected) {
    Str blob;
    return remote_get(remote, f->arena, name, &blob) && str_eq(blob, expected);
}

static bool holds_nothing(Fixture *f, Remote *remote, const char *name) {
    Str blob;
    return !remote_get(remote, f->arena, name, &blob);
}

/* After some trouble it is left alone, and then asked again. */
static bool holds_in_time(Fixture *f, Remote *remote, const char *name, Str expected) {
    for (int i = 0; i < 600; i++) {
        if (holds(f, remote, name, expected))
            return true;
        usleep(50000);
    }
    return false;
}

static const char *trouble_of(Fixture *f, Remote *remote) {
    char text[192];
    return remote_take_trouble(remote, text, sizeof text) ? str_dup(f->arena, str_from(text)) : "";
}

static void command(const Server *server, const char *text) {
    assert_true(run("redis-cli -p %d %s >/dev/null 2>&1", server->port, text));
}

static void addresses(void **state) {
    static const struct {
        const char *url, *user, *password, *host, *port, *prefix;
        bool tls;
    } good[] = {
        {"redis://h", NULL, NULL, "h", "6379", "tilec", false},
        {"rediss://h:1/p", NULL, NULL, "h", "1", "p", true},
        {"redis://:secret@10.0.0.1:7000/a/b", NULL, "secret", "10.0.0.1", "7000", "a/b", false},
        {"redis://me:p%40s%3As%2F%25@h/", "me", "p@s:s/%", "h", "6379", "tilec", false},
        {"redis://me:a@b@h", "me", "a@b", "h", "6379", "tilec", false},
        {"redis://me:100%@h", "me", "100%", "h", "6379", "tilec", false},
        {"redis://[::1]:5/x", NULL, NULL, "::1", "5", "x", false},
        {"redis://[::1]", NULL, NULL, "::1", "6379", "tilec", false},
    };
    static const char *const bad[] = {
        "",           "redis:/h",       "http://h",       "redis://",
        "redis:///",  "redis://h:port", "redis://[::1",   "redis://me@",
        "redis://:8", "redis://[::1]9", "redis://h:1 2/p"};
    Fixture *f = *state;
    RedisAddress a;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(redis_parse_address(f->arena, good[i].url, &a));
        assert_string_equal(a.host, good[i].host);
        assert_string_equal(a.port, good[i].port);
        assert_string_equal(a.prefix, good[i].prefix);
        assert_string_equal(a.user ? a.user : "-", good[i].user ? good[i].user : "-");
        assert_string_equal(a.password ? a.password : "-",
                            good[i].password ? good[i].password : "-");
        assert_int_equal(a.tls, good[i].tls);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (redis_parse_address(f->arena, bad[i], &a))
            fail_msg("%s is no address", bad[i]);
}

static void blobs(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, PLAIN);
    Remote *remote = open_plain(f, &server);
    Remote *other = open_remote(f, NULL, NULL, "redis://localhost:%d/other", server.port);
    const Str large = make_data(f, 5000000, 1), binary = {"a\0\r\n$5", 7};
    assert_true(holds_nothing(f, remote, "a"));
    remote_put(remote, f->arena, "a", binary);
    remote_put(remote, f->arena, "b", large);
    remote_put(remote, f->arena, "c", STR(""));
    assert_true(holds(f, remote, "a", binary));
    assert_true(holds(f, remote, "b", large));
    assert_true(holds(f, remote, "c", STR("")));
    remote_put(remote, f->arena, "a", STR("new"));
    assert_true(holds(f, remote, "a", STR("new")));
    assert_true(holds_nothing(f, other, "a"));
    assert_string_equal(trouble_of(f, remote), "");
    remote_close(remote);
    remote_close(other);
    stop_server(&server);
}

static void passwords(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, "--port", "--requirepass s:3/t --user worker on '>w@rk' '~*' '+@all'");
    const char *const good[] = {":s%3A3%2Ft@", "default:s:3%2Ft@", "worker:w%40rk@"};
    const char *const bad[] = {"", ":wrong@", "worker:s%3A3%2Ft@", "nobody:w%40rk@"};
    for (size_t i = 0; i < 3; i++) {
        Remote *remote = open_remote(f, NULL, NULL, "redis://%s127.0.0.1:%d", good[i], server.port);
        remote_put(remote, f->arena, "a", STR("x"));
        assert_true(holds(f, remote, "a", STR("x")));
        assert_string_equal(trouble_of(f, remote), "");
        remote_close(remote);
    }
    for (size_t i = 0; i < 4; i++) {
        Remote *remote = open_remote(f, NULL, NULL, "redis://%s127.0.0.1:%d", bad[i], server.port);
        assert_true(holds_nothing(f, remote, "a"));
        assert_non_null(strstr(trouble_of(f, remote), i ? "WRONGPASS" : "NOAUTH"));
        assert_null(strstr(remote_address(remote), "@"));
        remote_close(remote);
    }
    stop_server(&server);
}

static void killed_server(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, PLAIN);
    Remote *remote = open_plain(f, &server);
    remote_put(remote, f->arena, "a", STR("x"));
    assert_true(holds(f, remote, "a", STR("x")));
    kill_server(&server);
    assert_true(holds_nothing(f, remote, "a"));
    assert_string_not_equal(trouble_of(f, remote), "");
    start_again(&server);
    command(&server, "set test:1:blob:a y");
    assert_true(holds_nothing(f, remote, "a")); /* nobody asks yet */
    assert_true(holds_in_time(f, remote, "a", STR("y")));
    assert_string_equal(trouble_of(f, remote), "");
    remote_close(remote);
    stop_server(&server);
}

static void paused_server(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, PLAIN);
    for (int way = 0; way < 2; way++) {
        const char *trouble;
        Remote *remote = open_plain(f, &server);
        remote_put(remote, f->arena, "a", STR("x"));
        remote_close(remote);
        const RemoteConfig config = {
            .url = str_format(f->arena, "redis://127.0.0.1:%d/test", server.port),
            .time_limit_ms = 50};
        remote = remote_open(f->arena, &config, &trouble);
        if (way)
            command(&server, "client pause 700");
        else
            kill(server.pid, SIGSTOP);
        assert_true(holds_nothing(f, remote, "a"));
        assert_string_equal(trouble_of(f, remote), "no answer in time");
        kill(server.pid, SIGCONT);
        assert_true(holds_in_time(f, remote, "a", STR("x")));
        remote_close(remote);
    }
    stop_server(&server);
}

static void full_server(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, "--port", "--maxmemory 3mb --maxmemory-policy noeviction");
    Remote *remote = open_plain(f, &server);
    remote_put(remote, f->arena, "a", STR("x"));
    for (unsigned i = 0; i < 8; i++)
        remote_put(remote, f->arena, str_format(f->arena, "b%u", i), make_data(f, 1000000, i));
    assert_non_null(strstr(trouble_of(f, remote), "OOM"));
    assert_true(holds(f, remote, "a", STR("x")));
    assert_true(holds_nothing(f, remote, "b7"));
    remote_close(remote);
    stop_server(&server);
}

/* What is no server: each connection is answered by the next text, in parts of `step` bytes. */
typedef struct Fake {
    int fd, port;
    sem_t answered, told;
    const char *const *answers;
    size_t count, step;
} Fake;

static void *answer(void *user) {
    const Fake *fake = user;
    for (size_t i = 0; i < fake->count; i++) {
        char buffer[1024];
        const int fd = accept(fake->fd, NULL, NULL);
        const char *text = fake->answers[i];
        if (fd < 0 || recv(fd, buffer, sizeof buffer, 0) < 0)
            abort();
        for (size_t left = strlen(text); left;) {
            const size_t part = left < fake->step ? left : fake->step;
            if (send(fd, text, part, MSG_NOSIGNAL) < 0)
                break;
            text += part;
            left -= part;
        }
        shutdown(fd, SHUT_WR);
        while (recv(fd, buffer, sizeof buffer, 0) > 0)
            ;
        close(fd);
    }
    return NULL;
}

static void garbage(void **state) {
    static const char *const answers[] = {
        "",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "*4294967295\r\n$1\r\n",
        "*3\r\n*3\r\n*3\r\n*3\r\n*3\r\n*3\r\n*3\r\n*3\r\n*3\r\n*3\r\n",
        "$99999999999999999999\r\nx",
        "$536870913\r\nx",
        "$-7\r\n",
        "$5\r\nhello",
        "$5\r\nhel",
        "$2\r\nhello\r\n",
        ":12\r\n",
        "+OK\r\n",
        "+",
        "-ERR no\r\n",
        "$\r\n",
        ":\r\n",
        "\377\377\377\377\377\377",
        "\r\n\r\n\r\n",
    };
    enum { COUNT = sizeof answers / sizeof *answers };
    Fixture *f = *state;
    for (size_t step = 1; step < 2000; step += 1000) {
        Fake fake = {.answers = answers, .count = COUNT, .step = step};
        pthread_t thread;
        fake.fd = listen_somewhere(&fake.port);
        assert_int_equal(pthread_create(&thread, NULL, answer, &fake), 0);
        for (size_t i = 0; i < COUNT; i++) {
            Remote *remote = open_remote(f, NULL, NULL, "redis://127.0.0.1:%d", fake.port);
            if (!holds_nothing(f, remote, "a"))
                fail_msg("something was found in: %s", answers[i]);
            remote_close(remote);
        }
        pthread_join(thread, NULL);
        close(fake.fd);
    }
}

/* One answer to each connection, of `size` bytes, with a pause in the middle; or a byte of it now
 * and then, without an end. */
typedef struct Sender {
    int fd, port;
    size_t size;
    bool trickles;
} Sender;

static bool send_all(int fd, const char *data, size_t size) {
    while (size) {
        const ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

static void *send_answer(void *user) {
    const Sender *sender = user;
    char *data = malloc(sender->size), head[64];
    const int fd = accept(sender->fd, NULL, NULL);
    if (!data || fd < 0 || recv(fd, head, sizeof head, 0) < 0)
        abort();
    memset(data, 'x', sender->size);
    snprintf(head, sizeof head, "$%zu\r\n", sender->size);
    bool ok = send_all(fd, head, strlen(head));
    if (sender->trickles) {
        while (send_all(fd, "x", 1)) /* until nobody listens */
            usleep(1000);
    } else {
        ok = ok && send_all(fd, data, sender->size / 2);
        usleep(700000);
        ok = ok && send_all(fd, data, sender->size - sender->size / 2) && send_all(fd, "\r\n", 2);
    }
    while (ok && !sender->trickles && recv(fd, head, sizeof head, 0) > 0)
        ;
    close(fd);
    free(data);
    return NULL;
}

/* What is large may take what its bytes take at the least rate, beside the limit; what does not
 * come any faster than a byte now and then may not. */
static void large_answers(void **state) {
    Fixture *f = *state;
    for (int trickles = 0; trickles < 2; trickles++) {
        Sender sender = {.size = 48 << 20, .trickles = trickles}; /* 3 s */
        pthread_t thread;
        const char *trouble;
        Str found = {0};
        sender.fd = listen_somewhere(&sender.port);
        assert_int_equal(pthread_create(&thread, NULL, send_answer, &sender), 0);
        const RemoteConfig config = {
            .url = str_format(f->arena, "redis://127.0.0.1:%d/test", sender.port),
            .time_limit_ms = 500};
        Remote *remote = remote_open(f->arena, &config, &trouble);
        assert_int_equal(remote_get(remote, f->arena, "a", &found), !trickles);
        if (trickles)
            assert_string_equal(trouble_of(f, remote), "no answer in time");
        else
            assert_int_equal(found.len, sender.size);
        remote_close(remote);
        pthread_join(thread, NULL);
        close(sender.fd);
    }
}

/* A second answer comes behind the first that was asked for, and is nobody's; then the server
 * closes the connection, which is no trouble. */
static void *answer_twice(void *user) {
    static const char first[] = "$5\r\nhello\r\n", second[] = "$1\r\nx\r\n";
    Fake *fake = user;
    for (int i = 0; i < 3; i++) {
        char buffer[1024];
        const int fd = accept(fake->fd, NULL, NULL);
        if (fd < 0 || recv(fd, buffer, sizeof buffer, 0) < 0 ||
            send(fd, first, sizeof first - 1, MSG_NOSIGNAL) < 0)
            abort();
        if (i == 0) {
            sem_wait(&fake->answered); /* it has taken the first */
            send(fd, second, sizeof second - 1, MSG_NOSIGNAL);
        } else {
            close(fd);
        }
        sem_post(&fake->told);
        while (i == 0 && recv(fd, buffer, sizeof buffer, 0) > 0)
            ;
        if (i == 0)
            close(fd);
    }
    return NULL;
}

static void second_answers(void **state) {
    Fixture *f = *state;
    Fake fake = {0};
    pthread_t thread;
    fake.fd = listen_somewhere(&fake.port);
    sem_init(&fake.answered, 0, 0);
    sem_init(&fake.told, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, answer_twice, &fake), 0);
    Remote *remote = open_remote(f, NULL, NULL, "redis://127.0.0.1:%d", fake.port);
    for (int i = 0; i < 3; i++) {
        assert_true(holds(f, remote, "a", STR("hello")));
        sem_post(&fake.answered);
        sem_wait(&fake.told);
    }
    assert_string_equal(trouble_of(f, remote), "");
    remote_close(remote);
    pthread_join(thread, NULL);
    close(fake.fd);
}

static bool make_certificates(const char *folder) {
    return run("cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ours "
               "-keyout ca.key -out ca.pem 2>/dev/null && openssl req -x509 -newkey rsa:2048 "
               "-nodes -days 2 -subj /CN=other -keyout other.key -out other.pem 2>/dev/null && "
               "openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout s.key -out s.csr "
               "2>/dev/null && echo subjectAltName=DNS:localhost >ext && openssl x509 -req "
               "-in s.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext "
               "-out s.pem 2>/dev/null",
               folder);
}

static void tls(void **state) {
    Fixture *f = *state;
    Server server;
    char options[384];
    if (!has_program("openssl")) {
        print_message("no openssl, which makes certificates: TLS is not tested\n");
        skip();
    }
    assert_true(make_certificates(f->folder));
    snprintf(options, sizeof options,
             "--tls-cert-file %s/s.pem --tls-key-file %s/s.key "
             "--tls-ca-cert-file %s/ca.pem --tls-auth-clients no --requirepass secret",
             f->folder, f->folder, f->folder);
    start_server(&server, "--port 0 --tls-port", options);
    const char *ca = str_format(f->arena, "%s/ca.pem", f->folder);
    const char *other = str_format(f->arena, "%s/other.pem", f->folder);
    const struct {
        const char *scheme, *host, *ca, *trouble;
    } cases[] = {{"rediss", "localhost", ca, ""},
                 {"rediss", "localhost", other, "certificate"},
                 {"rediss", "localhost", NULL, "certificate"},
                 {"rediss", "127.0.0.1", ca, "IP address mismatch"},
                 {"rediss", "localhost", "/no/file", "the certificates cannot be read"},
                 {"redis", "localhost", NULL, "closed"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Remote *remote = open_remote(f, NULL, cases[i].ca, "%s://:secret@%s:%d", cases[i].scheme,
                                     cases[i].host, server.port);
        const Str large = make_data(f, 300000, 1);
        remote_put(remote, f->arena, "a", large);
        assert_int_equal(holds(f, remote, "a", large), i == 0);
        const char *trouble = trouble_of(f, remote);
        if (i == 0)
            assert_string_equal(trouble, "");
        else if (i < 5 && !strstr(trouble, cases[i].trouble))
            fail_msg("%s, wanted %s", trouble, cases[i].trouble);
        else
            assert_string_not_equal(trouble, "");
        remote_close(remote);
    }
    stop_server(&server);
}

static void signatures(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, PLAIN);
    Remote *plain = open_plain(f, &server);
    Remote *ours = open_remote(f, "key", NULL, "redis://127.0.0.1:%d/test", server.port);
    Remote *theirs = open_remote(f, "other", NULL, "redis://127.0.0.1:%d/test", server.port);
    remote_put(plain, f->arena, "unsigned", STR("forged"));
    remote_put(ours, f->arena, "a", STR("ours"));
    remote_put(theirs, f->arena, "b", STR("theirs"));
    assert_true(holds(f, ours, "a", STR("ours")));
    assert_true(holds(f, plain, "a", STR("ours")));
    assert_true(holds_nothing(f, theirs, "a"));
    assert_true(holds_nothing(f, ours, "b"));
    assert_true(holds_nothing(f, ours, "unsigned"));
    assert_non_null(strstr(trouble_of(f, ours), "not signed"));
    /* Another name, another byte. */
    command(&server, "copy test:1:blob:a test:1:blob:c");
    assert_true(holds_nothing(f, ours, "c"));
    for (int at = 0; at < 44; at += 3) {
        command(&server, "copy test:1:blob:a test:1:blob:d replace");
        assert_true(run("redis-cli -p %d setrange test:1:blob:d %d Z >/dev/null", server.port, at));
        assert_true(holds_nothing(f, ours, "d"));
    }
    remote_close(plain);
    remote_close(ours);
    remote_close(theirs);
    stop_server(&server);
}

static void leases(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, PLAIN);
    Remote *one = open_plain(f, &server), *two = open_plain(f, &server);
    RemoteLease first, second;
    assert_int_equal(remote_lease_take(one, "a", &first), REMOTE_HELD);
    assert_int_equal(remote_lease_take(two, "a", &second), REMOTE_BUSY);
    remote_lease_end(two, "a", &second);
    assert_int_equal(remote_lease_take(two, "a", &second), REMOTE_BUSY);
    remote_lease_end(one, "a", &first);
    assert_int_equal(remote_lease_take(two, "a", &second), REMOTE_HELD);
    assert_true(run("test $(redis-cli -p %d pttl test:1:lease:a) -gt 1000", server.port));
    /* One that expired is another's by now. */
    command(&server, "del test:1:lease:a");
    assert_int_equal(remote_lease_take(one, "a", &first), REMOTE_HELD);
    remote_lease_end(two, "a", &second);
    assert_int_equal(remote_lease_take(two, "a", &second), REMOTE_BUSY);
    remote_lease_end(one, "a", &first);
    kill_server(&server);
    assert_int_equal(remote_lease_take(one, "a", &first), REMOTE_NONE);
    remote_lease_end(one, "a", &first);
    remote_close(one);
    remote_close(two);
    stop_server(&server);
}

/* A fork of the host has the connection, and must not speak on it. */
static void forks(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, PLAIN);
    Remote *remote = open_plain(f, &server);
    remote_put(remote, f->arena, "a", STR("parent"));
    remote_put(remote, f->arena, "b", STR("child"));
    fflush(NULL);
    const pid_t pid = fork();
    const bool is_child = pid == 0;
    bool ok = true;
    for (int i = 0; i < 300 && ok; i++)
        ok = is_child ? holds(f, remote, "b", STR("child")) : holds(f, remote, "a", STR("parent"));
    if (is_child)
        _exit(!ok);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(ok);
    remote_close(remote);
    stop_server(&server);
}

/* Machines of a fleet: processes with a folder of their own each. */

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

enum { MACHINES = 6, VARIANTS = 8 };

static void run_machine(Fixture *f, int number, const char *url) {
    static const char source[] = "import triton\nimport triton.language as tl\n@triton.jit\n"
                                 "def kernel(x, N: tl.constexpr):\n    tl.store(x, N)\n";
    const char *folder = str_format(f->arena, "%s/%d", f->folder, number);
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(folder),
                                          .ptxas = text(TILEC_FAKE_PTXAS),
                                          .remote_cache = text(url),
                                          .remote_cache_key = text("key")};
    tile_context *context;
    bool ok = tile_context_create(&options, &context) == TILE_OK;
    for (int i = 0; i < VARIANTS && ok; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        const tile_named constexprs[] = {{text("N"), text(value)}};
        const tile_compile_options compile = {.size = sizeof compile,
                                              .path = text("fleet.tile"),
                                              .source = text(source),
                                              .signature = text("*i32"),
                                              .constexprs = constexprs,
                                              .constexpr_count = 1};
        tile_kernel *kernel = NULL;
        tile_diagnostics *said;
        ok = tile_compile(context, &compile, &kernel, &said) == TILE_OK &&
             !strncmp(tile_kernel_get_output(kernel, TILE_OUTPUT_CUBIN).data, "cubin of ", 9);
        fputs(tile_diagnostics_text(said).data, stderr);
        tile_diagnostics_destroy(said);
        tile_kernel_destroy(kernel);
    }
    tile_context_destroy(context);
    _exit(!ok);
}

static long run_fleet(Fixture *f, int port, bool keep_folders) {
    const char *log = str_format(f->arena, "%s/log", f->folder);
    const char *url = str_format(f->arena, "redis://127.0.0.1:%d/fleet", port);
    pid_t pids[MACHINES];
    struct stat info;
    assert_int_equal(file_write(f->arena, log, STR(""), false), 0);
    setenv("FAKE_PTXAS_LOG", log, 1);
    setenv("FAKE_PTXAS_MS", "30", 1);
    setenv("TILEC_REMOTE_CACHE_TIME", "5000", 1);
    fflush(NULL);
    for (int i = 0; i < MACHINES; i++)
        if ((pids[i] = fork()) == 0)
            run_machine(f, i, url);
    for (int i = 0; i < MACHINES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    if (!keep_folders)
        for (int i = 0; i < MACHINES; i++)
            run("/bin/rm -rf %s/%d", f->folder, i);
    assert_int_equal(stat(log, &info), 0);
    return info.st_size / 26;
}

static void one_compilation_for_a_fleet(void **state) {
    Fixture *f = *state;
    Server server;
    start_server(&server, PLAIN);
    assert_int_equal(run_fleet(f, server.port, false), VARIANTS);
    assert_int_equal(run_fleet(f, server.port, true), 0);
    /* What was found became each machine's own. */
    kill_server(&server);
    assert_int_equal(run_fleet(f, server.port, false), 0);
    /* And without the server everybody works alone. */
    assert_int_equal(run_fleet(f, server.port, false), VARIANTS * MACHINES);
    /* Damage is nothing. */
    start_again(&server);
    assert_int_equal(run_fleet(f, server.port, false), VARIANTS);
    assert_true(run("for k in $(redis-cli -p %d --scan --pattern 'fleet:*blob*'); do "
                    "redis-cli -p %d setrange $k 150 XYZ; done >/dev/null",
                    server.port, server.port));
    const long again = run_fleet(f, server.port, false);
    assert_int_equal(again, VARIANTS);
    stop_server(&server);
}

int main(void) {
    if (!has_program("redis-server") || !has_program("redis-cli")) {
        const struct CMUnitTest alone[] = {TEST(addresses), TEST(garbage), TEST(large_answers),
                                           TEST(second_answers)};
        print_message("no redis-server: only addresses and garbage are tested\n");
        return cmocka_run_group_tests(alone, NULL, NULL);
    }
    alarm(300);
    const struct CMUnitTest tests[] = {
        TEST(addresses),      TEST(blobs),
        TEST(passwords),      TEST(killed_server),
        TEST(paused_server),  TEST(full_server),
        TEST(garbage),        TEST(large_answers),
        TEST(second_answers), TEST(tls),
        TEST(signatures),     TEST(leases),
        TEST(forks),          TEST(one_compilation_for_a_fleet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
