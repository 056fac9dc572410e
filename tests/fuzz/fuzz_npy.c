/* Any bytes as a .npy file. Beyond not crashing: a refused file has a message; an accepted one has
 * as many bytes of data as its type and shape say, inside readable memory, and reads back equal
 * from what is written for it. */
#include "fuzz.h"
#include "runtime/data/npy.h"

static void check_round_trip(Ctx *ctx, const HostArray *array) {
    StrBuf file = strbuf(&ctx->arena);
    npy_header(array, &file);
    FUZZ_CHECK(file.len % 64 == 0);
    strbuf_add(&file, array->data, array->bytes);
    HostArray back;
    FUZZ_CHECK(npy_parse(ctx, "written", file.ptr, file.len, array->elem, &back));
    FUZZ_CHECK(back.elem == array->elem && back.rank == array->rank && back.count == array->count);
    for (int32_t d = 0; d < array->rank; d++)
        FUZZ_CHECK(back.shape[d] == array->shape[d]);
    FUZZ_CHECK(array->bytes == 0 || memcmp(back.data, array->data, array->bytes) == 0);
}

static void check_file(Ctx *ctx, void *bytes, size_t size, Elem as) {
    HostArray array;
    unsigned errors = ctx->diags.errors;
    bool ok = npy_parse(ctx, "input.npy", bytes, size, as, &array);
    FUZZ_CHECK(ok == (ctx->diags.errors == errors));
    if (!ok)
        return;
    FUZZ_CHECK(array.bytes <= size && array.bytes == array.count * host_elem_bytes(array.elem));
    StrBuf text = strbuf(&ctx->arena);
    host_array_print_type(&array, &text);
    for (size_t i = 0; i < array.count && i < 64; i++) {
        host_array_print_index(&array, i, &text);
        host_array_print_element(&array, i, &text);
    }
    check_round_trip(ctx, &array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    /* Exactly as long as the input, so that a read behind its end is one behind the block. */
    void *const bytes = malloc(size ? size : 1);
    if (ctx && bytes && setjmp(ctx->oom) == 0) {
        ctx->arena.limit = (size_t)1 << 30;
        memcpy(bytes, data, size);
        check_file(ctx, bytes, size, ELEM_COUNT);
        check_file(ctx, bytes, size, ELEM_F8E5);
        StrBuf text = strbuf(&ctx->arena);
        diag_print_all(&ctx->diags, &text);
    }
    free(bytes);
    ctx_destroy(ctx);
    return 0;
}
