/* Machines that run programs of one launch on several threads. They report nothing: at the first
 * finding they stop, and the launch runs again on one thread. */
#ifndef TILEC_SIM_STATE_TEAM_H
#define TILEC_SIM_STATE_TEAM_H
#include "sim/state/machine.h"

#include <pthread.h>

enum { WORD_LOCKS = 64 };

/* What the machines of a launch on several threads share. */
struct Team {
    pthread_mutex_t lock;              /* of the order of global memory */
    pthread_mutex_t words[WORD_LOCKS]; /* of parts of its cells */
    uint64_t next;                     /* cluster to start; atomic */
    bool abandoned;                    /* atomic */
};

void team_begin(Team *team);
void team_end(Team *team);
void team_abandon(Machine *machine);
bool team_abandoned(const Machine *machine);
void team_lock_order(Machine *machine);
void team_unlock_order(Machine *machine);
/* Locks the part the cell belongs to, instead of the one held so far. */
void team_hold_cell(Machine *machine, const void *cell);
void team_release_cell(Machine *machine);
#endif
