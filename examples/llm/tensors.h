/* Tensors of .safetensors files, mapped into memory. */
#ifndef EXAMPLES_LLM_TENSORS_H
#define EXAMPLES_LLM_TENSORS_H
#include "json.h"
#include "tilec.h"

enum { MAX_RANK = 4 };

typedef struct Tensor {
    char *name;
    tile_dtype dtype;
    size_t element_bytes;
    int rank;
    int64_t shape[MAX_RANK];
    const void *data;
    size_t bytes;
    bool used; /* something has asked for it */
} Tensor;

typedef struct TensorFile {
    const char *data;
    size_t size;
} TensorFile;

typedef struct Tensors {
    Tensor *list;
    size_t count;
    TensorFile *files;
    size_t file_count;
} Tensors;

/* All .safetensors files of a folder. False after a message. */
bool tensors_open(Tensors *tensors, const char *folder);
void tensors_close(Tensors *tensors);
/* NULL: there is none of that name. */
Tensor *tensors_find(Tensors *tensors, const char *name);

/* The whole file, terminated by a zero, to be freed. NULL after a message. */
char *read_file(const char *folder, const char *name, size_t *size);
#endif
