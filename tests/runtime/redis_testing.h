/* A real Redis server on the loopback for tests, and what answers in its place. */
#ifndef TILEC_TESTS_REDIS_TESTING_H
#define TILEC_TESTS_REDIS_TESTING_H
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Server {
    pid_t pid;
    int port;
    char folder[64];
    char options[512]; /* to start it again */
} Server;

__attribute__((format(printf, 1, 2))) static inline bool run(const char *format, ...) {
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command) == 0;
}

static inline bool has_program(const char *name) {
    return run("command -v %s >/dev/null 2>&1", name);
}

/* A socket that listens on a free port. */
static inline int listen_somewhere(int *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, 16) ||
        getsockname(fd, (struct sockaddr *)&address, &size))
        abort();
    *port = ntohs(address.sin_port);
    return fd;
}

static inline bool is_up(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool up = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return up;
}

/* Ends with this process. Waits until it listens. */
static inline void start_again(Server *server) {
    char command[1024];
    snprintf(
        command, sizeof command,
        "exec redis-server --bind 127.0.0.1 --save '' --appendonly no --dir %s %s >%s/log 2>&1",
        server->folder, server->options, server->folder);
    fflush(NULL);
    server->pid = fork();
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    while (!is_up(server->port)) {
        if (waitpid(server->pid, NULL, WNOHANG)) {
            run("cat %s/log", server->folder);
            abort();
        }
        usleep(2000);
    }
}

/* `port_option` takes the port. */
static inline void start_server(Server *server, const char *port_option, const char *options) {
    close(listen_somewhere(&server->port));
    strcpy(server->folder, "/tmp/tilec-redis-XXXXXX");
    if (!mkdtemp(server->folder))
        abort();
    snprintf(server->options, sizeof server->options, "%s %d %s", port_option, server->port,
             options);
    start_again(server);
}

static inline void kill_server(Server *server) {
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
}

static inline void stop_server(Server *server) {
    kill_server(server);
    run("/bin/rm -rf %s", server->folder);
}
#endif
