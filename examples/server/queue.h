/* Requests on their way from one thread to many. */
#ifndef EXAMPLES_SERVER_QUEUE_H
#define EXAMPLES_SERVER_QUEUE_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Request {
    uint32_t rows, width; /* width: its number among those that are served */
    double arrived;       /* seconds */
} Request;

enum { QUEUE_ROOM = 64 };

typedef struct Queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Request requests[QUEUE_ROOM];
    unsigned first, count;
    bool closed;
} Queue;

void queue_open(Queue *queue);
void queue_destroy(Queue *queue);
/* Waits for room. False: the queue is closed. */
bool queue_put(Queue *queue, const Request *request);
/* Waits for a request. False: the queue is closed, and all requests were taken. */
bool queue_take(Queue *queue, Request *request);
/* No more requests: those that wait are still taken. */
void queue_close(Queue *queue);
#endif
