#include "queue.h"

void queue_open(Queue *queue) {
    *queue = (Queue){.count = 0};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
}

void queue_destroy(Queue *queue) {
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

bool queue_put(Queue *queue, const Request *request) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUE_ROOM && !queue->closed)
        pthread_cond_wait(&queue->changed, &queue->lock);
    const bool taken = !queue->closed;
    if (taken)
        queue->requests[(queue->first + queue->count++) % QUEUE_ROOM] = *request;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

bool queue_take(Queue *queue, Request *request) {
    pthread_mutex_lock(&queue->lock);
    while (!queue->count && !queue->closed)
        pthread_cond_wait(&queue->changed, &queue->lock);
    const bool taken = queue->count > 0;
    if (taken) {
        *request = queue->requests[queue->first];
        queue->first = (queue->first + 1) % QUEUE_ROOM;
        queue->count--;
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

void queue_close(Queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}
