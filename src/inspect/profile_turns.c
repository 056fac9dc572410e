/* A turn of a loop as it ran: what the clock kept of one warp, in pieces that a picture can show.
 */
#include "inspect/profile.h"

enum { MOST_PIECES = 240 };

Str profile_opcode(Str text) {
    if (text.len && text.ptr[0] == '@')
        while (text.len && text.ptr[0] != ' ' && text.ptr[0] != '\t')
            text = (Str){text.ptr + 1, text.len - 1};
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = (Str){text.ptr + 1, text.len - 1};
    return text;
}

/* KIND(words that an instruction begins with, what it does): the first that fits. */
static const struct {
    const char *word;
    TraceOpKind kind;
} kind_of_name[] = {
    {"cp.async.wait", TRACE_OP_WAIT},
    {"cp.async.bulk.wait", TRACE_OP_WAIT},
    {"cp.async.commit", TRACE_OP_BARRIER},
    {"cp.async.bulk.commit", TRACE_OP_BARRIER},
    {"cp.", TRACE_OP_COPY},
    {"mbarrier.try_wait", TRACE_OP_WAIT},
    {"mbarrier.test_wait", TRACE_OP_WAIT},
    {"mbarrier.", TRACE_OP_BARRIER},
    {"wgmma.wait", TRACE_OP_WAIT},
    {"wgmma.mma", TRACE_OP_PRODUCT},
    {"wgmma.", TRACE_OP_BARRIER},
    {"mma.", TRACE_OP_PRODUCT},
    {"bar.", TRACE_OP_BARRIER},
    {"barrier.", TRACE_OP_BARRIER},
    {"fence.", TRACE_OP_BARRIER},
    {"membar", TRACE_OP_BARRIER},
    {"shfl.", TRACE_OP_EXCHANGE},
    {"bra", TRACE_OP_CONTROL},
};

static TraceOpKind kind_of(const SimInsn *insn) {
    const Str name = profile_opcode(insn->text);
    for (size_t i = 0; i < sizeof kind_of_name / sizeof *kind_of_name; i++)
        if (str_begins(name, kind_of_name[i].word))
            return kind_of_name[i].kind;
    if (!strcmp(insn->class, "shared"))
        return TRACE_OP_SHARED;
    return strcmp(insn->class, "global") != 0 ? TRACE_OP_ARITHMETIC : TRACE_OP_GLOBAL;
}

static double later(double a, double b) {
    return a > b ? a : b;
}

static ProfilePiece piece_of(const SimModule *module, const SimEvent *event) {
    const SimInsn insn = sim_insn(module, event->insn);
    return (ProfilePiece){.kind = event->queue ? TRACE_OP_WAIT : kind_of(&insn),
                          .at = insn.file ? (TracePlace){insn.file, insn.line} : (TracePlace){0},
                          .first = insn.ptx_line,
                          .last = insn.ptx_line,
                          .count = 1,
                          .from = event->from,
                          .to = event->to,
                          .until = event->until,
                          .busy = event->busy,
                          .replays = event->replays,
                          .waits = event->waits,
                          .queue = event->queue};
}

static bool goes_on(const ProfilePiece *piece, const ProfilePiece *next, double gap, bool lines) {
    return piece->waits == next->waits && piece->queue == next->queue &&
           next->from <= piece->to + gap &&
           (!lines || (piece->at.file == next->at.file && piece->at.line == next->at.line));
}

/* Instructions of one kind and line that follow each other within `gap` clocks are one piece. */
static void add_pieces(Arena *arena, const SimModule *module, const SimTurn *turn, double gap,
                       bool lines, ProfilePieces *pieces) {
    size_t last[TRACE_OP_CONTROL + 1] = {0}; /* number + 1 */
    pieces->len = 0;
    for (uint32_t i = 0; i < turn->count; i++) {
        const ProfilePiece next = piece_of(module, &turn->events[i]);
        ProfilePiece *piece = last[next.kind] ? &pieces->data[last[next.kind] - 1] : NULL;
        if (next.to <= next.from)
            continue;
        if (piece && goes_on(piece, &next, gap, lines)) {
            piece->from = next.from < piece->from ? next.from : piece->from;
            piece->to = later(piece->to, next.to);
            piece->until = later(piece->until, next.until);
            piece->busy += next.busy;
            piece->replays += next.replays;
            piece->count++;
            piece->last = next.last;
            continue;
        }
        vec_push(arena, pieces, next);
        last[next.kind] = pieces->len;
    }
}

/* That units are busy beyond the end of a program by latency holds warps up somewhere: shown at the
 * end of the turn, as long as it is in the mean. */
static void add_queue(Arena *arena, const SimModule *module, const SimTime *time,
                      ProfileLoop *loop) {
    const SimEvent queue = {.insn = loop->queued_for,
                            .from = loop->turn->clocks,
                            .to = loop->turn->clocks + loop->queued,
                            .until = loop->turn->clocks + loop->queued,
                            .busy = loop->queued,
                            .queue = time->crowded};
    loop->turn_clocks = loop->turn->clocks + loop->queued;
    if (queue.to > queue.from && queue.queue)
        vec_push(arena, &loop->pieces, piece_of(module, &queue));
}

void profile_add_turn(Arena *arena, const SimModule *module, const SimTime *time,
                      ProfileLoop *loop) {
    const double gaps[] = {1.5, 8, 32, 128};
    for (uint32_t i = 0; i < time->turn_count; i++)
        if (time->turns[i].branch == loop->branch)
            loop->turn = &time->turns[i];
    for (size_t i = 0; loop->turn && i < sizeof gaps / sizeof *gaps; i++) {
        add_pieces(arena, module, loop->turn, gaps[i], i < 2, &loop->pieces);
        if (loop->pieces.len <= MOST_PIECES)
            break;
    }
    if (loop->turn)
        add_queue(arena, module, time, loop);
}
