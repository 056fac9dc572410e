/* Global memory that the machines of a team access at the same time. Addresses are
 * of the host, multiples of the size or of 8. */
#ifndef TILEC_SIM_STATE_HOST_MEMORY_H
#define TILEC_SIM_STATE_HOST_MEMORY_H
#include "sim/state/machine.h"

void host_load(const Machine *machine, const uint8_t *from, void *to, uint64_t size);
void host_store(const Machine *machine, uint8_t *to, const void *from, uint64_t size);
void host_fill(const Machine *machine, uint8_t *to, uint8_t value, uint64_t size);
bool host_equal(const Machine *machine, const uint8_t *at, const void *value, uint64_t size);
/* Puts `desired` there if `*expected` still is, else that is what is there now. */
bool host_swap(const Machine *machine, uint8_t *at, uint64_t *expected, uint64_t desired,
               uint32_t size);
#endif
