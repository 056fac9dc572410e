/* Loads, stores and atomics on the caller's arrays. Every element's address is checked: it must lie
 * in an array, inside its bounds, aligned to the element. Consecutive elements mostly lie in the
 * same array, so that the check is one subtraction and comparison against the window of the last
 * array met. */
#include "interp/interp_internal.h"

#include <math.h>

/* One op's accesses. */
typedef struct Access {
    Run *run;
    const Op *op;
    const char *verb; /* "load", for messages */
    const Type *pointer;
    uint32_t size; /* bytes of an element */
    bool writes;
    const uint64_t *addresses;
    const uint8_t *address_undef;
    const uint8_t *mask, *mask_undef; /* NULL: all lanes are on */
    /* The window: addresses lo to lo + span may be accessed; none before the first access. */
    uint64_t lo, span;
    uint8_t *data, *defined;
} Access;

static Access access_begin(Run *run, const Op *op, const char *verb, bool writes,
                           const Slot *mask) {
    const Slot *pointers = in_slot(run, op, 0);
    return (Access){.run = run,
                    .op = op,
                    .verb = verb,
                    .pointer = op_in(op, 0)->type,
                    .size = (uint32_t)dtype_bytes(op_in(op, 0)->type->dtype),
                    .writes = writes,
                    .addresses = (const uint64_t *)pointers->data,
                    .address_undef = pointers->undef,
                    .mask = mask ? mask->data : NULL,
                    .mask_undef = mask ? mask->undef : NULL,
                    .lo = UINT64_MAX};
}

static void report_outside(const Access *access, const InterpArray *array, int64_t offset,
                           uint32_t i) {
    Run *run = access->run;
    int64_t size = access->size;
    int64_t element = offset >= 0 ? offset / size : -((-offset + size - 1) / size);
    if (!finding(run, access->op, interp_bounds, access->verb, STR_ARG(array->name),
                 (long long)element, (unsigned long long)(array->bytes / access->size),
                 (long long)offset, (unsigned long long)array->bytes,
                 finding_place(run, access->pointer, i)))
        return;
    if (!access->mask)
        diag_hint(&run->ctx->diags, "give the %s a mask that is off outside the array",
                  access->verb);
}

/* The array that a pointer leads to, and where in it; NULL: it came from none, and points into
 * none. */
static const InterpArray *find_array(const Run *run, uint64_t pointer, int64_t *offset) {
    const uint32_t number = pointer_array(run, pointer);
    if (number != UINT32_MAX) {
        *offset = (int64_t)(pointer - array_pointer(run, number, 0));
        return &run->arrays[number];
    }
    for (uint32_t i = 0; i < run->narrays; i++) {
        const InterpArray *array = &run->arrays[i];
        *offset = (int64_t)(pointer - array->address);
        if (array->address && pointer - array->address < array->bytes)
            return array;
    }
    return NULL;
}

/* Finds the array an address belongs to and makes it the window; false after a report. */
static bool access_window(Access *access, uint32_t i) {
    Run *run = access->run;
    uint64_t address = access->addresses[i];
    const Op *op = access->op;
    int64_t offset;
    const InterpArray *array = find_array(run, address, &offset);
    if (!array) {
        finding(run, op, interp_address, access->verb, (unsigned long long)address,
                finding_place(run, access->pointer, i));
        return false;
    }
    if (offset < 0 || array->bytes < access->size ||
        (uint64_t)offset > array->bytes - access->size) {
        report_outside(access, array, offset, i);
        return false;
    }
    if (address % access->size != 0) {
        finding(run, op, interp_alignment, access->verb, access->size, STR_ARG(array->name),
                (long long)offset, finding_place(run, access->pointer, i));
        return false;
    }
    if (access->writes && array->read_only) {
        finding(run, op, interp_read_only, access->verb, STR_ARG(array->name),
                finding_place(run, access->pointer, i));
        return false;
    }
    access->lo = address - (uint64_t)offset;
    access->span = array->bytes - access->size;
    access->data = array->data;
    access->defined = array->defined;
    return true;
}

/* Whether lane i takes part. */
static inline bool lane_on(Access *access, uint32_t i) {
    if (!access->mask)
        return true;
    if (access->mask_undef && access->mask_undef[i]) {
        const Type *type = access->pointer;
        finding_undefined(access->run, access->op, "the mask", access->mask_undef[i], type, i);
        return false;
    }
    return access->mask[i];
}

/* Offset of lane i's element in the window's array, or -1 after a report. */
static inline int64_t lane_offset(Access *access, uint32_t i) {
    if (__builtin_expect(access->address_undef && access->address_undef[i], 0)) {
        finding_undefined(access->run, access->op, "the address", access->address_undef[i],
                          access->pointer, i);
        return -1;
    }
    uint64_t offset = access->addresses[i] - access->lo;
    if (__builtin_expect(offset > access->span || (access->addresses[i] & (access->size - 1)), 0)) {
        if (!access_window(access, i))
            return -1;
        offset = access->addresses[i] - access->lo;
    }
    return (int64_t)offset;
}

static bool bytes_defined(const Access *access, int64_t offset) {
    for (uint32_t b = 0; access->defined && b < access->size; b++)
        if (access->defined[offset + b] != UINT8_MAX)
            return false;
    return true;
}

/* Constant sizes become single moves. */
static inline void copy_element(void *to, const void *from, uint32_t size) {
    switch (size) {
    case 1:
        memcpy(to, from, 1);
        return;
    case 2:
        memcpy(to, from, 2);
        return;
    case 4:
        memcpy(to, from, 4);
        return;
    default:
        memcpy(to, from, 8);
        return;
    }
}

/* Lanes that are off, and lanes whose access was reported, get `other`, or zero. */
static void fill_lanes(Slot *out, const Slot *other, uint32_t size) {
    if (!other) {
        memset(out->data, 0, (size_t)out->n * size);
        return;
    }
    memcpy(out->data, other->data, (size_t)out->n * size);
}

static bool has_operand(const Op *op, uint32_t index) {
    return index < op->nin;
}

static void mark_undef(Run *run, Slot *out, uint32_t i, uint8_t origin) {
    if (!out->undef)
        slot_new_undef(run, out);
    out->undef[i] = origin;
}

static void load_lanes(Access *access, Slot *out, const Slot *other) {
    Run *run = access->run;
    uint8_t masked = 0, unwritten = 0;
    bool is_bool = access->pointer->dtype == DT_I1;
    for (uint32_t i = 0; i < out->n && !run->stopped; i++) {
        if (!lane_on(access, i)) {
            if (!other) {
                if (!masked)
                    masked = origin_of(run, access->op, UNDEF_MASKED_LOAD);
                mark_undef(run, out, i, masked);
            } else if (other->undef && other->undef[i]) {
                mark_undef(run, out, i, other->undef[i]);
            }
            continue;
        }
        int64_t offset = lane_offset(access, i);
        if (offset < 0)
            continue;
        uint8_t *to = out->data + (size_t)i * access->size;
        copy_element(to, access->data + offset, access->size);
        if (is_bool)
            *to = *to != 0;
        if (__builtin_expect(access->defined != NULL, 0) && !bytes_defined(access, offset)) {
            if (!unwritten)
                unwritten = origin_of(run, access->op, UNDEF_UNWRITTEN);
            mark_undef(run, out, i, unwritten);
        }
    }
}

/* Whole tiles of consecutive elements in bounds are the common case: one check, one copy. */
static bool load_contiguous(Access *access, Slot *out) {
    if (access->address_undef || access->mask_undef || access->pointer->dtype == DT_I1)
        return false;
    uint64_t first = access->addresses[0], wrong = 0;
    uint8_t on = 1;
    for (uint32_t i = 0; i < out->n; i++)
        wrong |= access->addresses[i] ^ (first + (uint64_t)i * access->size);
    for (uint32_t i = 0; access->mask && i < out->n; i++)
        on &= access->mask[i];
    if (wrong || !on || first % access->size)
        return false;
    int64_t begin;
    const InterpArray *array = find_array(access->run, first, &begin);
    uint64_t offset = (uint64_t)begin, bytes = (uint64_t)out->n * access->size;
    if (!array || offset > array->bytes || bytes > array->bytes - offset || array->defined)
        return false;
    memcpy(out->data, (const uint8_t *)array->data + offset, bytes);
    return true;
}

/* What the passes claim when they set the width of an access: see ops.def. Only lanes that are on
 * count. */
static const char *width_violation(const Access *access, uint32_t first, uint32_t other,
                                   uint32_t step, uint32_t width) {
    bool on = !access->mask || access->mask[first];
    bool other_on = !access->mask || access->mask[other];
    if (on != other_on)
        return "the mask is not uniform";
    if (!on)
        return NULL;
    if (access->addresses[first] % ((uint64_t)width * access->size) != 0)
        return "the address is not aligned to it";
    if (access->addresses[other] != access->addresses[first] + (uint64_t)step * access->size)
        return "the addresses are not consecutive";
    return NULL;
}

static void check_width(Access *access, int64_t claimed) {
    const Layout *layout = access->pointer->layout;
    if (claimed <= 1 || !layout)
        return;
    uint32_t width = (uint32_t)claimed, group = 0;
    for (uint32_t bit = 0; 1u << bit < width; bit++)
        group |= layout->basis[bit];
    for (uint32_t i = 0; i < type_numel(access->pointer); i++) {
        for (uint32_t step = 1; !(i & group) && step < width; step++) {
            uint32_t other = i | layout_apply(layout, step, 0, 0, 0);
            if (access->address_undef && (access->address_undef[i] || access->address_undef[other]))
                continue;
            const char *violation = width_violation(access, i, other, step, width);
            if (!violation)
                continue;
            finding(access->run, access->op, interp_width, access->verb, width, violation,
                    finding_place(access->run, access->pointer, other));
            return;
        }
    }
}

void interp_load_elements(Run *run, const Op *op, const Slot *mask, const Slot *other,
                          int64_t width, Slot *out) {
    Access access = access_begin(run, op, "load", false, mask);
    check_width(&access, width);
    if (load_contiguous(&access, out))
        return;
    fill_lanes(out, other, access.size);
    load_lanes(&access, out, other);
}

void interp_load(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Slot *mask = has_operand(op, 1) ? in_slot(run, op, 1) : NULL;
    const Slot *other = has_operand(op, 2) ? in_slot(run, op, 2) : NULL;
    interp_load_elements(run, op, mask, other, load_attrs(op)->width, new_result(run, op, 0));
}

static void set_defined(const Access *access, int64_t offset) {
    if (access->defined)
        memset(access->defined + offset, UINT8_MAX, access->size);
}

static void store_lanes(Access *access, const Slot *value) {
    Run *run = access->run;
    for (uint32_t i = 0; i < value->n && !run->stopped; i++) {
        if (!lane_on(access, i))
            continue;
        int64_t offset = lane_offset(access, i);
        if (offset < 0)
            continue;
        if (value->undef && value->undef[i]) {
            finding_undefined(run, access->op, "the stored value", value->undef[i], access->pointer,
                              i);
            continue;
        }
        copy_element(access->data + offset, value->data + (size_t)i * access->size, access->size);
        set_defined(access, offset);
    }
}

void interp_store(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Slot *mask = has_operand(op, 2) ? in_slot(run, op, 2) : NULL;
    Access access = access_begin(run, op, "store", true, mask);
    check_width(&access, store_attrs(op)->width);
    store_lanes(&access, in_slot(run, op, 1));
}

/* Blocks of tensors: the addresses and the mask that the coordinates stand for. */

static bool block_defined(Run *run, const Op *op, const BlockAccess *access) {
    static const char *const uses[] = {"the extent", "the stride", "the offset", "the policy"};
    bool ok = require_defined(run, op, 0, 0, "the address");
    for (uint32_t i = access->shape; i < op->nin; i++)
        ok &= require_defined(run, op, i, 0, uses[(i - access->shape) / (uint32_t)access->rank]);
    return ok;
}

BlockLanes block_lanes(Run *run, const Op *op) {
    BlockAccess block = block_access(op), *access = &block;
    uint32_t n = (uint32_t)type_numel(access->tile),
             size = (uint32_t)dtype_bytes(access->tile->dtype);
    BlockLanes lanes = {access->tile, buf_new(run, n * sizeof(uint64_t)), buf_new(run, n),
                        block_defined(run, op, access)};
    uint64_t *addresses = (uint64_t *)lanes.addresses->bytes;
    memset(lanes.mask->bytes, lanes.defined, n);
    uint64_t base = (uint64_t)slot_int(in_slot(run, op, 0), type_scalar(run->ctx, DT_I64), 0);
    for (uint32_t i = 0; i < n; i++)
        addresses[i] = base;
    uint32_t inner = n;
    for (uint32_t d = 0; d < (uint32_t)access->rank && lanes.defined; d++) {
        const Type *type = op_in(op, access->offsets + d)->type,
                   *wide = type_scalar(run->ctx, DT_I64);
        int64_t extent = slot_int(in_slot(run, op, access->shape + d), wide, 0);
        int64_t stride = slot_int(in_slot(run, op, access->strides + d), wide, 0);
        int64_t begin = slot_int(in_slot(run, op, access->offsets + d), type, 0);
        uint32_t length = (uint32_t)access->tile->shape[d];
        inner /= length;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t at = (uint64_t)begin + i / inner % length;
            addresses[i] += at * (uint64_t)stride * size;
            if (block_checks(access, (int)d) && ((int64_t)at < 0 || (int64_t)at >= extent))
                lanes.mask->bytes[i] = 0;
        }
    }
    return lanes;
}

void block_lanes_release(Run *run, BlockLanes *lanes) {
    buf_release(run, lanes->addresses);
    buf_release(run, lanes->mask);
}

static Access block_begin(Run *run, const Op *op, const char *verb, bool writes,
                          const BlockLanes *lanes) {
    return (Access){.run = run,
                    .op = op,
                    .verb = verb,
                    .pointer = lanes->tile,
                    .size = (uint32_t)dtype_bytes(lanes->tile->dtype),
                    .writes = writes,
                    .addresses = (const uint64_t *)lanes->addresses->bytes,
                    .mask = lanes->mask->bytes,
                    .lo = UINT64_MAX};
}

void interp_read_block(Run *run, const Op *op, const BlockLanes *lanes, uint64_t padding,
                       Slot *out) {
    Slot other = {0};
    Access access = block_begin(run, op, "load", false, lanes);
    uint8_t *filled = slot_new(run, &other, out->n, access.size);
    for (uint32_t i = 0; i < out->n; i++)
        copy_element(filled + (size_t)i * access.size, &padding, access.size);
    fill_lanes(out, &other, access.size);
    load_lanes(&access, out, &other);
    slot_clear(run, &other);
}

void interp_write_block(Run *run, const Op *op, const BlockLanes *lanes, const Slot *value) {
    Access access = block_begin(run, op, "store", true, lanes);
    store_lanes(&access, value);
}

void interp_load_block(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    BlockLanes lanes = block_lanes(run, op);
    bool is_nan = load_block_attrs(op)->padding == PADDING_NAN;
    uint64_t padding = is_nan ? float_to_bits(lanes.tile->dtype, NAN) : 0;
    interp_read_block(run, op, &lanes, padding, new_result(run, op, 0));
    block_lanes_release(run, &lanes);
}

void interp_store_block(Run *run, const Inst *inst) {
    BlockLanes lanes = block_lanes(run, inst->op);
    interp_write_block(run, inst->op, &lanes, in_slot(run, inst->op, 1));
    block_lanes_release(run, &lanes);
}

/* Atomics: programs run one after another, so that only the old values have to be right. */

static uint64_t element_bits(const void *at, uint32_t size) {
    uint64_t bits = 0;
    copy_element(&bits, at, size);
    return bits;
}

static int64_t sign_extend(uint64_t bits, uint32_t size) {
    uint32_t shift = 64 - 8 * size;
    return (int64_t)(bits << shift) >> shift;
}

static uint64_t float_sum(DType dtype, uint64_t a, uint64_t b) {
    if (dtype == DT_F32)
        return float_to_bits(dtype,
                             (float)float_from_bits(dtype, a) + (float)float_from_bits(dtype, b));
    return float_to_bits(dtype, float_from_bits(dtype, a) + float_from_bits(dtype, b));
}

/* The new value in memory; bits above the element's size do not matter. */
static uint64_t atomic_result(AtomicOp kind, DType dtype, uint64_t old, uint64_t value,
                              uint32_t size) {
    switch (kind) {
    case RMW_ADD:
        return old + value;
    case RMW_FADD:
        return float_sum(dtype, old, value);
    case RMW_SMAX:
        return sign_extend(old, size) > sign_extend(value, size) ? old : value;
    case RMW_UMAX:
        return old > value ? old : value;
    case RMW_SMIN:
        return sign_extend(old, size) < sign_extend(value, size) ? old : value;
    case RMW_UMIN:
        return old < value ? old : value;
    case RMW_AND:
        return old & value;
    case RMW_OR:
        return old | value;
    case RMW_XOR:
        return old ^ value;
    case RMW_XCHG:
        return value;
    case RMW_COUNT:
        break;
    }
    return old;
}

/* The old element goes to the result; false if the lane's access was reported. */
static bool atomic_fetch(Access *access, Slot *out, uint32_t i, int64_t *offset) {
    *offset = lane_offset(access, i);
    if (*offset < 0)
        return false;
    copy_element(out->data + (size_t)i * access->size, access->data + *offset, access->size);
    if (!bytes_defined(access, *offset))
        mark_undef(access->run, out, i, origin_of(access->run, access->op, UNDEF_UNWRITTEN));
    return true;
}

static void rmw_lanes(Access *access, AtomicOp kind, Slot *out) {
    Run *run = access->run;
    const Op *op = access->op;
    const Slot *value = in_slot(run, op, 1);
    DType dtype = op_in(op, 1)->type->dtype;
    fill_lanes(out, NULL, access->size);
    for (uint32_t i = 0; i < out->n && !run->stopped; i++) {
        int64_t offset;
        if (!lane_on(access, i)) {
            mark_undef(run, out, i, origin_of(run, op, UNDEF_MASKED_ATOMIC));
            continue;
        }
        if (!atomic_fetch(access, out, i, &offset) ||
            !require_defined(run, op, 1, i, "the atomic's value"))
            continue;
        uint64_t old = element_bits(access->data + offset, access->size);
        uint64_t operand = element_bits(value->data + (size_t)i * access->size, access->size);
        uint64_t result = atomic_result(kind, dtype, old, operand, access->size);
        copy_element(access->data + offset, &result, access->size);
        /* A value made from unwritten memory stays unwritten. */
        if (kind == RMW_XCHG)
            set_defined(access, offset);
    }
}

void interp_atomic_rmw(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Slot *mask = has_operand(op, 2) ? in_slot(run, op, 2) : NULL;
    Access access = access_begin(run, op, "atomic", true, mask);
    check_width(&access, atomic_rmw_attrs(op)->width);
    rmw_lanes(&access, atomic_rmw_attrs(op)->kind, new_result(run, op, 0));
}

void interp_atomic_block(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    BlockLanes lanes = block_lanes(run, op);
    Access access = block_begin(run, op, "atomic", true, &lanes);
    Slot old = {0};
    slot_new(run, &old, (uint32_t)type_numel(lanes.tile), access.size);
    rmw_lanes(&access, atomic_block_attrs(op)->kind, &old);
    slot_clear(run, &old);
    block_lanes_release(run, &lanes);
}

void interp_atomic_cas(Run *run, const Inst *inst) {
    const Op *op = inst->op;
    const Slot *expected = in_slot(run, op, 1), *desired = in_slot(run, op, 2);
    Slot *out = new_result(run, op, 0);
    Access access = access_begin(run, op, "atomic", true, NULL);
    fill_lanes(out, NULL, access.size);
    for (uint32_t i = 0; i < out->n && !run->stopped; i++) {
        int64_t offset;
        if (!atomic_fetch(&access, out, i, &offset) ||
            !require_defined(run, op, 1, i, "the atomic's expected value") ||
            !require_defined(run, op, 2, i, "the atomic's new value"))
            continue;
        if (out->undef && out->undef[i]) {
            finding_undefined(run, op, "the memory compared", out->undef[i], access.pointer, i);
            continue;
        }
        size_t at = (size_t)i * access.size;
        if (memcmp(access.data + offset, expected->data + at, access.size) == 0)
            copy_element(access.data + offset, desired->data + at, access.size);
    }
}
