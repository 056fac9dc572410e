/* Devices that are this machine, as the files of the API share them. Launchers that are linked
 * without a compiler have none, and know of them by what device.c calls. */
#ifndef TILEC_RUNTIME_API_HOST_DEVICE_H
#define TILEC_RUNTIME_API_HOST_DEVICE_H
#include "runtime/api/api.h"
#include "runtime/host/host.h"
#include "runtime/host/memory.h"

/* Memory that the device gave out. */
typedef struct HostAllocation {
    uint8_t *data, *defined;
    uint64_t bytes;
    void *block; /* which both lie in */
    size_t block_bytes;
} HostAllocation;

typedef struct HostDevice {
    HostSettings settings;
    tile_host_tell print;  /* NULL: to standard output */
    tile_host_tell counts; /* NULL: nobody asks */
    void *user;
    pthread_mutex_t turn; /* of runs of the simulator on memory of the device */
    pthread_mutex_t lock; /* of the allocations */
    HostAllocation *allocations;
    size_t count, capacity;
} HostDevice;

/* Adds what kernels may touch of the device's own. */
void host_device_memory(HostDevice *device, Arena *arena, HostMemory *memory);
/* Tells what programs printed, and what was counted. */
void host_device_tell(const HostDevice *device, Str printed, Str counts);
#endif
