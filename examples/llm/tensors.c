/* A file is a length of 8 bytes, a head of that many bytes of JSON, and data; the head says of each
 * tensor its type, shape and place: {"name": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0,
 * 12]}}. */
#include "tensors.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    tile_dtype dtype;
    size_t bytes;
} types[] = {{"F16", TILE_FP16, 2}, {"BF16", TILE_BF16, 2}, {"F32", TILE_FP32, 4}};

static bool read_type(const Json *json, Tensor *tensor) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!json_is(json, types[i].name))
            continue;
        tensor->dtype = types[i].dtype;
        tensor->element_bytes = types[i].bytes;
        return true;
    }
    return false;
}

/* Lengths that make up the bytes: nothing in a file is believed. */
static bool read_shape(const Json *json, Tensor *tensor) {
    uint64_t elements = 1;
    for (const Json *at = json ? json->first : NULL; at; at = at->next) {
        if (tensor->rank == MAX_RANK || !(at->number >= 0 && at->number < 1e12))
            return false;
        const uint64_t length = (uint64_t)at->number;
        if (length && elements > tensor->bytes / length)
            return false;
        tensor->shape[tensor->rank++] = (int64_t)length;
        elements *= length;
    }
    return json && elements * tensor->element_bytes == tensor->bytes;
}

static bool read_place(const Json *json, const TensorFile *file, size_t begin, Tensor *tensor) {
    const Json *from = json ? json->first : NULL, *to = from ? from->next : NULL;
    const double room = (double)(file->size - begin);
    if (!to || !(from->number >= 0 && from->number <= to->number && to->number <= room))
        return false;
    tensor->data = file->data + begin + (size_t)from->number;
    tensor->bytes = (size_t)(to->number - from->number);
    return true;
}

static bool read_tensor(const Json *json, const TensorFile *file, size_t begin, Tensor *tensor) {
    if (!read_type(json_find(json, "dtype"), tensor) ||
        !read_place(json_find(json, "data_offsets"), file, begin, tensor) ||
        !read_shape(json_find(json, "shape"), tensor))
        return false;
    tensor->name = calloc(json->key_size + 1, 1);
    if (tensor->name)
        memcpy(tensor->name, json->key, json->key_size);
    return tensor->name;
}

static bool add_tensor(Tensors *tensors, const Json *json, const TensorFile *file, size_t begin) {
    Tensor *list = realloc(tensors->list, (tensors->count + 1) * sizeof *list);
    if (!list)
        return false;
    tensors->list = list;
    list[tensors->count] = (Tensor){0};
    if (read_tensor(json, file, begin, &list[tensors->count])) {
        tensors->count++;
        return true;
    }
    fprintf(stderr, "llm: tensor %.*s is not one of fp16, bf16 or fp32, or does not fit its file\n",
            (int)json->key_size, json->key);
    return false;
}

static bool read_head(Tensors *tensors, const TensorFile *file) {
    uint64_t length = 0;
    if (file->size < sizeof length)
        return false;
    memcpy(&length, file->data, sizeof length);
    if (length > file->size - sizeof length)
        return false;
    Json *head = json_parse(file->data + sizeof length, (size_t)length);
    bool ok = head && head->kind == JSON_OBJECT;
    for (const Json *at = ok ? head->first : NULL; at && ok; at = at->next)
        if (at->key_size != 12 || memcmp(at->key, "__metadata__", 12) != 0)
            ok = add_tensor(tensors, at, file, sizeof length + (size_t)length);
    json_free(head);
    return ok;
}

static bool map_file(const char *path, TensorFile *file) {
    struct stat info;
    const int handle = open(path, O_RDONLY);
    void *data = MAP_FAILED;
    if (handle >= 0 && !fstat(handle, &info) && info.st_size > 0)
        data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, handle, 0);
    if (handle >= 0)
        close(handle);
    if (data == MAP_FAILED)
        return false;
    *file = (TensorFile){data, (size_t)info.st_size};
    return true;
}

bool tensors_open(Tensors *tensors, const char *folder) {
    char pattern[4096];
    glob_t found = {0};
    *tensors = (Tensors){0};
    snprintf(pattern, sizeof pattern, "%s/*.safetensors", folder);
    bool ok = !glob(pattern, 0, NULL, &found) && found.gl_pathc;
    if (!ok)
        fprintf(stderr, "llm: there is no %s\n", pattern);
    tensors->files = ok ? calloc(found.gl_pathc, sizeof *tensors->files) : NULL;
    for (size_t i = 0; ok && i < found.gl_pathc; i++) {
        TensorFile *file = &tensors->files[tensors->file_count];
        ok = tensors->files && map_file(found.gl_pathv[i], file);
        tensors->file_count += ok;
        ok = ok && read_head(tensors, file);
        if (!ok)
            fprintf(stderr, "llm: %s is no .safetensors file\n", found.gl_pathv[i]);
    }
    globfree(&found);
    return ok;
}

void tensors_close(Tensors *tensors) {
    for (size_t i = 0; i < tensors->count; i++)
        free(tensors->list[i].name);
    for (size_t i = 0; i < tensors->file_count; i++)
        munmap((void *)(uintptr_t)tensors->files[i].data, tensors->files[i].size);
    free(tensors->list);
    free(tensors->files);
}

Tensor *tensors_find(Tensors *tensors, const char *name) {
    for (size_t i = 0; i < tensors->count; i++) {
        if (strcmp(tensors->list[i].name, name) != 0)
            continue;
        tensors->list[i].used = true;
        return &tensors->list[i];
    }
    return NULL;
}

char *read_file(const char *folder, const char *name, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long length = -1;
    if (file && !fseek(file, 0, SEEK_END) && (length = ftell(file)) >= 0 &&
        !fseek(file, 0, SEEK_SET) && (text = malloc((size_t)length + 1))) {
        *size = fread(text, 1, (size_t)length, file);
        text[*size] = 0;
    }
    if (file)
        fclose(file);
    if (!text)
        fprintf(stderr, "llm: %s cannot be read\n", path);
    return text;
}
