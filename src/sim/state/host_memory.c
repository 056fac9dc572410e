/* Global memory as the machines of a team access it: by atomic operations of the host.
 *
 * Loads acquire and stores release, which orders at least what any PTX program may ask for but
 * sequential consistency; read-modify-write operations give that. Wide accesses are made of pieces
 * of up to 8 bytes, as on a GPU. Without a team these are plain copies. */
#include "sim/state/host_memory.h"

/* The largest piece that an address and a size allow. */
static uint32_t piece_at(const void *at, uint64_t size) {
    uint32_t piece = 8;
    while (piece > size || (uintptr_t)at % piece)
        piece /= 2;
    return piece;
}

static void load_piece(const uint8_t *from, uint8_t *to, uint32_t size) {
    switch (size) {
    case 8: {
        uint64_t value = __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_ACQUIRE);
        memcpy(to, &value, size);
        break;
    }
    case 4: {
        uint32_t value = __atomic_load_n((const uint32_t *)(const void *)from, __ATOMIC_ACQUIRE);
        memcpy(to, &value, size);
        break;
    }
    case 2: {
        uint16_t value = __atomic_load_n((const uint16_t *)(const void *)from, __ATOMIC_ACQUIRE);
        memcpy(to, &value, size);
        break;
    }
    default:
        *to = __atomic_load_n(from, __ATOMIC_ACQUIRE);
    }
}

static void store_piece(uint8_t *to, const uint8_t *from, uint32_t size) {
    uint64_t value = 0;
    memcpy(&value, from, size);
    switch (size) {
    case 8:
        __atomic_store_n((uint64_t *)(void *)to, value, __ATOMIC_RELEASE);
        break;
    case 4:
        __atomic_store_n((uint32_t *)(void *)to, (uint32_t)value, __ATOMIC_RELEASE);
        break;
    case 2:
        __atomic_store_n((uint16_t *)(void *)to, (uint16_t)value, __ATOMIC_RELEASE);
        break;
    default:
        __atomic_store_n(to, (uint8_t)value, __ATOMIC_RELEASE);
    }
}

void host_load(const Machine *machine, const uint8_t *from, void *to, uint64_t size) {
    if (!machine->team) {
        memcpy(to, from, size);
        return;
    }
    for (uint64_t at = 0; at < size;) {
        uint32_t piece = piece_at(from + at, size - at);
        load_piece(from + at, (uint8_t *)to + at, piece);
        at += piece;
    }
}

void host_store(const Machine *machine, uint8_t *to, const void *from, uint64_t size) {
    if (!machine->team) {
        memcpy(to, from, size);
        return;
    }
    for (uint64_t at = 0; at < size;) {
        uint32_t piece = piece_at(to + at, size - at);
        store_piece(to + at, (const uint8_t *)from + at, piece);
        at += piece;
    }
}

void host_fill(const Machine *machine, uint8_t *to, uint8_t value, uint64_t size) {
    for (uint64_t at = 0; at < size; at++)
        host_store(machine, to + at, &value, 1);
}

bool host_equal(const Machine *machine, const uint8_t *at, const void *value, uint64_t size) {
    uint8_t bytes[64];
    for (uint64_t done = 0; done < size; done += sizeof bytes) {
        uint64_t part = size - done < sizeof bytes ? size - done : sizeof bytes;
        host_load(machine, at + done, bytes, part);
        if (memcmp(bytes, (const uint8_t *)value + done, part) != 0)
            return false;
    }
    return true;
}

bool host_swap(const Machine *machine, uint8_t *at, uint64_t *expected, uint64_t desired,
               uint32_t size) {
    bool done;
    if (!machine->team) {
        memcpy(at, &desired, size);
        return true;
    }
    switch (size) {
    case 8:
        return __atomic_compare_exchange_n((uint64_t *)(void *)at, expected, desired, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    case 4: {
        uint32_t old = (uint32_t)*expected;
        done = __atomic_compare_exchange_n((uint32_t *)(void *)at, &old, (uint32_t)desired, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *expected = old;
        return done;
    }
    default: {
        uint16_t old = (uint16_t)*expected;
        done = __atomic_compare_exchange_n((uint16_t *)(void *)at, &old, (uint16_t)desired, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *expected = old;
        return done;
    }
    }
}
