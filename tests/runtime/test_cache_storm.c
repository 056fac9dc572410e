/* Many processes that want the same kernels from one cache at once, while they are killed, the disk
 * is full, entries are damaged, clocks jump, and locks fail or do nothing: everybody gets what a
 * compilation without a cache gives, and no kernel is assembled more often than it has to be. */
#include "tilec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef TILEC_SANITIZED
enum { PROCESSES = 16, VARIANTS = 12, KILLS = 20 };
#else
enum { PROCESSES = 32, VARIANTS = 50, KILLS = 80 };
#endif

/* The machine as this program and the processes that it forks see it. */
typedef struct Machine {
    _Atomic int locks;      /* LOCKS_... */
    _Atomic long disk_left; /* bytes that the cache's folder has room for */
} Machine;
enum { LOCKS_WORK, LOCKS_DO_NOTHING, LOCKS_FAIL };
static Machine *machine;
static char folder[64], cache_path[96], log_path[96];

/* In the C library's place for this program. */
int flock(int fd, int operation) {
    if (machine && machine->locks == LOCKS_DO_NOTHING)
        return 0;
    if (machine && machine->locks == LOCKS_FAIL) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static bool is_in_cache(int fd) {
    char link[64], path[256] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return *cache_path && readlink(link, path, sizeof path - 1) > 0 &&
           !strncmp(path, cache_path, strlen(cache_path));
}

/* A disk that fills up takes a part of what is written, and then nothing. */
ssize_t write(int fd, const void *data, size_t size) {
    if (machine && machine->disk_left < LONG_MAX && is_in_cache(fd)) {
        const long left = atomic_fetch_sub(&machine->disk_left, (long)size);
        if (left <= 0) {
            errno = ENOSPC;
            return -1;
        }
        size = (size_t)left < size ? (size_t)left : size;
    }
    return syscall(SYS_write, fd, data, size);
}

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

/* Results */

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "@triton.jit\n"
                             "def kernel(x, N: tl.constexpr):\n"
                             "    tl.store(x, N)\n";

typedef struct Result {
    char *ptx, *cubin;
} Result;
static Result expected[VARIANTS];

static char *copy(tile_text from) {
    char *to = calloc(1, from.size + 1);
    memcpy(to, from.data, from.size);
    return to;
}

static tile_context *make_context(uint64_t max_bytes) {
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(cache_path),
                                          .cache_max_bytes = max_bytes,
                                          .ptxas = text(TILEC_FAKE_PTXAS)};
    tile_context *context = NULL;
    return tile_context_create(&options, &context) == TILE_OK ? context : NULL;
}

/* What it gives is in malloc'ed memory; NULLs after an error. */
static Result compile(tile_context *context, int variant, bool no_cache) {
    char value[16];
    snprintf(value, sizeof value, "%d", variant);
    const tile_named constexprs[] = {{text("N"), text(value)}};
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("storm.tile"),
                                          .source = text(source),
                                          .signature = text("*i32"),
                                          .constexprs = constexprs,
                                          .constexpr_count = 1,
                                          .no_cache = no_cache};
    tile_kernel *kernel;
    tile_diagnostics *said;
    Result result = {0};
    if (tile_compile(context, &options, &kernel, &said) == TILE_OK) {
        result.ptx = copy(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX));
        result.cubin = copy(tile_kernel_get_output(kernel, TILE_OUTPUT_CUBIN));
        tile_kernel_destroy(kernel);
    } else {
        fprintf(stderr, "%s", tile_diagnostics_text(said).data);
    }
    tile_diagnostics_destroy(said);
    return result;
}

static int group_setup(void **state) {
    machine =
        mmap(NULL, sizeof *machine, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    machine->disk_left = LONG_MAX;
    tile_context *context = make_context(0);
    for (int i = 0; i < VARIANTS; i++) {
        expected[i] = compile(context, i, true);
        assert_non_null(expected[i].cubin);
        assert_int_equal(strncmp(expected[i].cubin, "cubin of ", 9), 0);
    }
    tile_context_destroy(context);
    return 0;
}

static int group_teardown(void **state) {
    for (int i = 0; i < VARIANTS; i++) {
        free(expected[i].ptx);
        free(expected[i].cubin);
    }
    return munmap(machine, sizeof *machine);
}

static int setup(void **state) {
    strcpy(folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    snprintf(cache_path, sizeof cache_path, "%s/cache", folder);
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    const int log = open(log_path, O_CREAT | O_WRONLY, 0666);
    assert_true(log >= 0 && fchmod(log, 0666) == 0 && close(log) == 0);
    setenv("FAKE_PTXAS_LOG", log_path, 1);
    machine->locks = LOCKS_WORK;
    machine->disk_left = LONG_MAX;
    alarm(300);
    return 0;
}

static int teardown(void **state) {
    char command[128];
    alarm(0);
    snprintf(command, sizeof command, "/bin/rm -rf %s", folder);
    return system(command);
}

/* How often the assembler ran. */
static int assembled(void) {
    enum { LINE = sizeof "cubin of 0123456789abcdef\n" - 1 };
    struct stat info;
    assert_int_equal(stat(log_path, &info), 0);
    assert_int_equal(info.st_size % LINE, 0);
    return (int)(info.st_size / LINE);
}

/* Processes */

typedef struct Storm {
    int processes, variants;
    uint64_t max_bytes;
    bool drops_rights; /* root is kept out by nothing */
    int kills;         /* of processes, which are started again */
    int disturbances;  /* of files */
} Storm;

static void run_process(const Storm *storm, unsigned seed) {
    int order[VARIANTS];
    alarm(300);
    if (storm->drops_rights && geteuid() == 0 && (setgid(65534) || setuid(65534)))
        _exit(3);
    for (int i = 0; i < storm->variants; i++) {
        const int other = (int)(rand_r(&seed) % (unsigned)(i + 1));
        order[i] = order[other];
        order[other] = i;
    }
    tile_context *context = make_context(storm->max_bytes);
    if (!context)
        _exit(2);
    for (int i = 0; i < storm->variants; i++) {
        const Result *want = &expected[order[i]];
        Result result = compile(context, order[i], false);
        if (!result.ptx || strcmp(result.ptx, want->ptx) || strcmp(result.cubin, want->cubin)) {
            fprintf(stderr, "variant %d is wrong\n", order[i]);
            _exit(1);
        }
        free(result.ptx);
        free(result.cubin);
    }
    tile_context_destroy(context);
    _exit(0);
}

static pid_t start(const Storm *storm, unsigned seed) {
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        run_process(storm, seed);
    assert_true(pid > 0);
    return pid;
}

/* One of the files of the cache, or none. */
static bool choose_file(unsigned *seed, char *path, size_t size) {
    unsigned count = 0;
    for (int i = 0; i < 16; i++) {
        char below[128];
        snprintf(below, sizeof below, "%s/v1/%x", cache_path, i);
        DIR *dir = opendir(below);
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            if (entry->d_name[0] != '.' && rand_r(seed) % ++count == 0)
                snprintf(path, size, "%s/%s", below, entry->d_name);
        if (dir)
            closedir(dir);
    }
    return count > 0;
}

static void flip_bit(const char *path, unsigned *seed) {
    struct stat info;
    const int fd = open(path, O_RDWR | O_NONBLOCK);
    unsigned char byte;
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size) {
        const off_t at = (off_t)(rand_r(seed) % (unsigned)info.st_size);
        if (pread(fd, &byte, 1, at) == 1) {
            byte ^= (unsigned char)(1u << rand_r(seed) % 8);
            assert_true(pwrite(fd, &byte, 1, at) == 1);
        }
    }
    if (fd >= 0)
        close(fd);
}

static void set_time(const char *path, time_t by) {
    const time_t then = time(NULL) + by;
    const struct timespec times[2] = {{then, 0}, {then, 0}};
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

/* What comes of disks, clocks and people. */
static void disturb(unsigned *seed) {
    enum { YEARS = 10 * 365 * 86400 };
    char path[512];
    if (!choose_file(seed, path, sizeof path))
        return;
    switch (rand_r(seed) % 7) {
    case 0:
    case 1:
        flip_bit(path, seed);
        break;
    case 2:
        if (truncate(path, (off_t)(rand_r(seed) % 2000)) == 0)
            break;
        break;
    case 3:
        set_time(path, rand_r(seed) % 2 ? YEARS : -YEARS);
        break;
    case 4:
        unlink(path);
        break;
    case 5:
        chmod(path, 0666);
        break;
    case 6:
        unlink(path);
        mkfifo(path, 0600);
        break;
    }
}

static void run_storm(const Storm *storm) {
    pid_t pids[PROCESSES];
    unsigned seed = 7;
    int running = storm->processes, kills = storm->kills, disturbances = storm->disturbances;
    for (int i = 0; i < storm->processes; i++)
        pids[i] = start(storm, (unsigned)i);
    while (running) {
        int status;
        if (kills > 0 || disturbances > 0) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            if (kills-- > 0)
                kill(pids[rand_r(&seed) % (unsigned)storm->processes], SIGKILL);
            if (disturbances-- > 0)
                disturb(&seed);
        }
        for (int i = 0; i < storm->processes; i++) {
            const int options = kills > 0 || disturbances > 0 ? WNOHANG : 0;
            if (!pids[i] || waitpid(pids[i], &status, options) != pids[i])
                continue;
            const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            if (!was_killed && status)
                fail_msg("a process ended with 0x%x", status);
            /* Who is done while there is more to come starts again, too. */
            const bool again = was_killed || kills > 0 || disturbances > 0;
            pids[i] = again ? start(storm, rand_r(&seed)) : 0;
            running -= !again;
        }
    }
}

static uint64_t bytes_in_cache(int *temporary) {
    uint64_t bytes = 0;
    *temporary = 0;
    for (int i = 0; i < 16; i++) {
        char below[128];
        snprintf(below, sizeof below, "%s/v1/%x", cache_path, i);
        DIR *dir = opendir(below);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            struct stat info;
            if (fstatat(dirfd(dir), entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode))
                bytes += (uint64_t)info.st_size;
            *temporary += entry->d_name[0] == '.' && entry->d_name[1] == 't';
        }
        if (dir)
            closedir(dir);
    }
    return bytes;
}

static void each_is_assembled_once(void **state) {
    const Storm storm = {.processes = PROCESSES, .variants = VARIANTS};
    int temporary;
    run_storm(&storm);
    assert_int_equal(assembled(), VARIANTS);
    bytes_in_cache(&temporary);
    assert_int_equal(temporary, 0);
}

/* Whoever is killed costs one more run at most, and what is damaged does. */
static void killed_and_damaged(void **state) {
    const Storm storm = {
        .processes = PROCESSES, .variants = VARIANTS, .kills = KILLS, .disturbances = KILLS};
    run_storm(&storm);
    assert_true(assembled() >= VARIANTS);
    assert_true(assembled() <= VARIANTS + 2 * KILLS);
    /* And then it heals. */
    const Storm calm = {.processes = 1, .variants = VARIANTS};
    run_storm(&calm);
    const int before = assembled();
    run_storm(&calm);
    assert_int_equal(assembled(), before);
}

static void full_disk(void **state) {
    const Storm storm = {.processes = 8, .variants = 8};
    machine->disk_left = 7000;
    run_storm(&storm);
    assert_true(assembled() >= 8 && assembled() <= 64);
    machine->disk_left = LONG_MAX;
    run_storm(&storm);
    const int before = assembled();
    run_storm(&storm);
    assert_int_equal(assembled(), before);
}

static void read_only_folder(void **state) {
    const Storm storm = {.processes = 8, .variants = 8, .drops_rights = true};
    const Storm half = {.processes = 4, .variants = 4, .drops_rights = true};
    char path[128];
    assert_int_equal(mkdir(cache_path, 0700), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(cache_path, 65534, 65534), 0);
    run_storm(&half);
    assert_int_equal(assembled(), 4);
    for (int i = 0; i < 16; i++) {
        snprintf(path, sizeof path, "%s/v1/%x", cache_path, i);
        chmod(path, 0500);
    }
    snprintf(path, sizeof path, "%s/v1", cache_path);
    assert_int_equal(chmod(path, 0500), 0);
    run_storm(&storm);
    assert_true(assembled() >= 8 && assembled() <= 4 + 4 * 8);
    for (int i = 0; i < 16; i++) {
        snprintf(path, sizeof path, "%s/v1/%x", cache_path, i);
        chmod(path, 0700);
    }
    snprintf(path, sizeof path, "%s/v1", cache_path);
    assert_int_equal(chmod(path, 0700), 0);
}

/* Nobody can wait for anybody: all compile, and what they store is right. */
static void locks_that_do_nothing(void **state) {
    const Storm storm = {.processes = 8, .variants = 8};
    for (int locks = LOCKS_DO_NOTHING; locks <= LOCKS_FAIL; locks++) {
        machine->locks = locks;
        run_storm(&storm);
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
}

static void limit_is_kept(void **state) {
    enum { LIMIT = 16 * 5000 };
    const Storm storm = {
        .processes = 8, .variants = VARIANTS, .max_bytes = LIMIT, .disturbances = KILLS};
    int temporary;
    run_storm(&storm);
    /* One more store everywhere: what was damaged last counts until then. */
    assert_true(bytes_in_cache(&temporary) <= LIMIT);
    assert_int_equal(temporary, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    setenv("FAKE_PTXAS_MS", "5", 1);
    const struct CMUnitTest tests[] = {
        TEST(each_is_assembled_once), TEST(killed_and_damaged),    TEST(full_disk),
        TEST(read_only_folder),       TEST(locks_that_do_nothing), TEST(limit_is_kept),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
