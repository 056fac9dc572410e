/* Running a program under supervision.
 *
 * A program started by this process directly would be a child like those of the host: a host that
 * ignores SIGCHLD, or that waits for any child, takes its exit status away, and execve makes every
 * child one that SIGCHLD announces, whatever it was cloned with. So a supervisor stands between: a
 * process that shares this one's memory and runs while the calling thread is suspended
 * (CLONE_VM | CLONE_VFORK, as in posix_spawn, hence quick however large the host is). It has signal
 * handlers and children of its own, never executes another program, and announces its end by no
 * signal, so that the host does not see it. It starts the program, waits for it, and writes what
 * there is to know into this frame.
 *
 * The supervisor runs on the suspended thread's thread-local storage with every signal blocked, and
 * calls nothing that takes a lock. It ends the program's whole group when the host is gone; should
 * the supervisor itself be killed, the kernel ends the program (PR_SET_PDEATHSIG). */
#include "runtime/tools/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUT_LIMIT = 1 << 20, STACK_SIZE = 128 << 10, TICK_MS = 20, START_FAILED = 127 };

typedef struct Supervisor {
    const ProcessRequest *request;
    const Cancel *cancel; /* NULL: none */
    pid_t host, self, tool;
    int input, output, errors; /* the program's 0, 1 and 2 */
    int captured;              /* what it writes there; not to block */
    char *stack;               /* of the program until it executes */
    char *buffer;              /* OUTPUT_LIMIT bytes */
    size_t len;
    double end_ms;
    volatile int error; /* errno that kept the program from starting */
    siginfo_t ended;
    bool timed_out, cancelled;
    bool asked; /* to end, for which it has until end_ms */
} Supervisor;

static double steady_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int process_descriptor(pid_t pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Becomes the program: ignored signals would stay ignored there, and blocked ones blocked. */
static int become_program(void *user) {
    extern char **environ;
    Supervisor *s = user;
    sigset_t none;
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &standard, NULL);
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->self)
        _exit(START_FAILED);
    if (dup2(s->input, 0) >= 0 && dup2(s->output, 1) >= 0 && dup2(s->errors, 2) >= 0) {
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(s->request->argv[0], (char *const *)s->request->argv, environ);
    }
    s->error = errno;
    _exit(START_FAILED);
}

/* Takes what there is; what does not fit is dropped, so that the writer goes on. False at the end.
 */
static bool drain(Supervisor *s) {
    char rest[4096];
    for (;;) {
        bool full = s->len == OUTPUT_LIMIT;
        ssize_t n = full ? read(s->captured, rest, sizeof rest)
                         : read(s->captured, s->buffer + s->len, OUTPUT_LIMIT - s->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0;
        if (!full)
            s->len += (size_t)n;
    }
}

static bool has_ended(Supervisor *s) {
    s->ended.si_pid = 0;
    return waitid(P_PID, (id_t)s->tool, &s->ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           s->ended.si_pid == s->tool;
}

/* The program has no more time, be it to work or, where it is asked first, to end by itself. */
static bool must_kill(Supervisor *s) {
    const double now = steady_ms();
    if (s->asked)
        return now >= s->end_ms;
    s->cancelled = cancel_is_requested(s->cancel);
    s->timed_out = !s->cancelled && now >= s->end_ms;
    if (!s->cancelled && !s->timed_out)
        return false;
    if (!(s->request->grace_ms > 0))
        return true;
    s->asked = true;
    s->end_ms = now + s->request->grace_ms;
    kill(s->tool, SIGTERM);
    return false;
}

/* Until the program has ended or must, or the host is gone. */
static void watch(Supervisor *s) {
    struct pollfd fds[] = {{s->captured, POLLIN, 0},
                           {process_descriptor(s->tool), POLLIN, 0},
                           {process_descriptor(s->host), POLLIN, 0},
                           {s->cancel ? s->cancel->event : -1, POLLIN, 0}};
    /* Linux before 5.3, or a process without descriptors to spare. */
    bool blind = fds[1].fd < 0 || fds[2].fd < 0 || (s->cancel && fds[3].fd < 0);
    while (!has_ended(s)) {
        if (getppid() != s->host || must_kill(s))
            break;
        if (s->asked)
            fds[3].fd = -1; /* it stays readable */
        double left = s->end_ms - steady_ms();
        poll(fds, 4, blind || left < TICK_MS ? TICK_MS : left > 1e6 ? 1000000 : (int)left);
        if (fds[0].revents && !drain(s))
            fds[0].fd = -1;
    }
}

static int supervise(void *user) {
    Supervisor *s = user;
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &standard, NULL);
    s->self = getpid();
    if (getppid() != s->host)
        _exit(0);
    s->tool = clone(become_program, s->stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, s);
    if (s->tool < 0) {
        s->error = errno;
        _exit(0);
    }
    if (!s->error)
        watch(s);
    kill(-s->tool, SIGKILL); /* and what it may have left running */
    kill(s->tool, SIGKILL);
    waitid(P_PID, (id_t)s->tool, &s->ended, WEXITED);
    drain(s);
    _exit(0);
}

/* Where standard descriptors are closed, new ones take their numbers, which the program's own would
 * overwrite. */
static int above_standard(int fd) {
    if (fd < 0 || fd > 2)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return moved;
}

static int start_supervisor(Supervisor *s) {
    char *stacks = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return errno;
    sigset_t all, before;
    sigfillset(&all);
    s->stack = stacks + STACK_SIZE;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = clone(supervise, stacks + STACK_SIZE, CLONE_VM | CLONE_VFORK, s);
    int error = pid < 0 ? errno : 0;
    /* Nobody else's wait sees it: it is a child that ends without a signal. */
    while (!error && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stacks, 2 * STACK_SIZE);
    return error ? error : s->error;
}

static int run_with_pipe(Supervisor *s, int empty, int pipe_in) {
    s->input = s->request->input ? s->request->input : empty;
    s->output = s->request->output ? s->request->output : pipe_in;
    s->errors = pipe_in;
    if (empty < 0 || pipe_in < 0 || s->captured < 0)
        return EMFILE;
    fcntl(s->captured, F_SETFL, O_NONBLOCK);
    return start_supervisor(s);
}

int process_run(Arena *arena, const ProcessRequest *request, ProcessResult *result) {
    const double limit =
        request->time_limit_ms > 0 ? request->time_limit_ms : PROCESS_TIME_LIMIT_MS;
    *result = (ProcessResult){.exit_code = -1};
    Supervisor s = {.request = request,
                    .cancel = arena->cancel,
                    .host = getpid(),
                    .buffer = arena_alloc(arena, OUTPUT_LIMIT),
                    .end_ms = steady_ms() + limit};
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return errno;
    int empty = above_standard(open("/dev/null", O_RDONLY | O_CLOEXEC));
    int pipe_in = above_standard(fds[1]);
    s.captured = above_standard(fds[0]);
    int error = run_with_pipe(&s, empty, pipe_in);
    close(empty);
    close(pipe_in);
    close(s.captured);
    if (error)
        return error;
    result->output = (Str){s.buffer, s.len};
    result->timed_out = s.timed_out;
    result->cancelled = s.cancelled;
    if (s.ended.si_code == CLD_EXITED)
        result->exit_code = s.ended.si_status;
    else
        result->signal = s.ended.si_status;
    return 0;
}
