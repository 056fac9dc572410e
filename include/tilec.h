#ifndef TILEC_H
#define TILEC_H
#define TILE_STATUSES(X)                                                                           \
    X(TILE_OK, 0, "success")                                                                       \
    X(TILE_ERROR_INVALID_ARGUMENT, 1, "an argument of the call is not valid")                      \
    X(TILE_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                \
    X(TILE_ERROR_SOURCE, 3, "the kernel's source or its arguments are wrong")                      \
    X(TILE_ERROR_FILE, 4, "a file cannot be read or written")                                      \
    X(TILE_ERROR_TOOL, 5, "a tool is missing or cannot be run")                                    \
    X(TILE_ERROR_NO_DRIVER, 6, "there is no usable CUDA driver")                                   \
    X(TILE_ERROR_NO_DEVICE, 7, "there is no such GPU, or none that runs this kernel")              \
    X(TILE_ERROR_DEVICE_MEMORY, 8, "out of device memory")                                         \
    X(TILE_ERROR_DRIVER, 9, "a call of the CUDA driver failed")                                    \
    X(TILE_ERROR_DISK_FULL, 10, "the disk is full")                                                \
    X(TILE_ERROR_INTERNAL, 11, "an error of the compiler")

typedef enum tile_status {
#define TILE_STATUS_ENUM(name, value, text) name = value,
    TILE_STATUSES(TILE_STATUS_ENUM)
#undef TILE_STATUS_ENUM
} tile_status;
const char *tile_status_name(tile_status status);
#endif
