/* Locks of a team, and how it gives up. */
#include "sim/state/team.h"

void team_begin(Team *team) {
    pthread_mutex_init(&team->lock, NULL);
    for (unsigned i = 0; i < WORD_LOCKS; i++)
        pthread_mutex_init(&team->words[i], NULL);
}

void team_end(Team *team) {
    pthread_mutex_destroy(&team->lock);
    for (unsigned i = 0; i < WORD_LOCKS; i++)
        pthread_mutex_destroy(&team->words[i]);
}

void team_lock_order(Machine *machine) {
    pthread_mutex_lock(&machine->team->lock);
    machine->holds_order = true;
}

void team_unlock_order(Machine *machine) {
    machine->holds_order = false;
    pthread_mutex_unlock(&machine->team->lock);
}

static pthread_mutex_t *lock_of(const Machine *machine, const void *cell) {
    /* Neighbours share a lock, as one access has several of them. */
    return &machine->team->words[(uintptr_t)cell / 4096 % WORD_LOCKS];
}

void team_hold_cell(Machine *machine, const void *cell) {
    pthread_mutex_t *lock = lock_of(machine, cell);
    if (machine->held_cells == lock)
        return;
    team_release_cell(machine);
    pthread_mutex_lock(lock);
    machine->held_cells = lock;
}

void team_release_cell(Machine *machine) {
    if (machine->held_cells)
        pthread_mutex_unlock(machine->held_cells);
    machine->held_cells = NULL;
}

void team_abandon(Machine *machine) {
    __atomic_store_n(&machine->team->abandoned, true, __ATOMIC_RELAXED);
    machine->stop = true;
}

bool team_abandoned(const Machine *machine) {
    return __atomic_load_n(&machine->team->abandoned, __ATOMIC_RELAXED);
}
