/* See Blocks. */
#include "function.h"

#include <stdlib.h>

typedef struct Block {
    struct Block *next;
    PyObject *kept; /* NULL: memory behind this */
    max_align_t bytes[];
} Block;

static Block *add_block(Blocks *blocks, size_t bytes) {
    Block *block = calloc(1, sizeof *block + bytes);
    if (!block) {
        PyErr_NoMemory();
        return NULL;
    }
    block->next = blocks->first;
    return blocks->first = block;
}

void *blocks_alloc(Blocks *blocks, size_t count, size_t size) {
    if (size && count > (SIZE_MAX / 2) / size) {
        PyErr_NoMemory();
        return NULL;
    }
    Block *block = add_block(blocks, count * size);
    return block ? block->bytes : NULL;
}

bool blocks_keep(Blocks *blocks, PyObject *object) {
    Block *block = add_block(blocks, 0);
    if (!block)
        return false;
    Py_INCREF(object);
    block->kept = object;
    return true;
}

void blocks_free(Blocks *blocks) {
    while (blocks->first) {
        Block *block = blocks->first;
        blocks->first = block->next;
        Py_XDECREF(block->kept);
        free(block);
    }
}

bool blocks_text(Blocks *blocks, PyObject *str, const char *what, tile_text *text) {
    Py_ssize_t size;
    if (!PyUnicode_Check(str)) {
        PyErr_Format(PyExc_TypeError, "%s has to be a str, not %R", what, (PyObject *)Py_TYPE(str));
        return false;
    }
    text->data = PyUnicode_AsUTF8AndSize(str, &size);
    text->size = (size_t)size;
    return text->data && blocks_keep(blocks, str);
}
