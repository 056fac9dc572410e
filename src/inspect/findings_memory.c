/* What is found of accesses to memory, and of who waits for them. */
#include "inspect/findings.h"

enum { WORTH_PERCENT = 125 }; /* of what would do: more is worth a word */

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Clocks of a warp that others wait for the instruction, as far as the finding is what makes them:
 * a result comes later by `late` at most, which passes while its unit is busy with it too. */
static double late_clocks(const Finder *f, const ProfileLine *line, FindingPart *part,
                          FindingClocks *late) {
    const double warps = f->programs * f->trace->compiled->facts.meta.threads / TARGET_WARP_SIZE;
    const SimSpent *spent = &line->spent;
    if (!late)
        return spent->awaited * part(&line->count);
    const double own = (spent->cycles - spent->waits - spent->queued) * part(&line->count);
    const double most = larger(late(&line->count) * (double)line->count.warps / warps - own, 0);
    return most < spent->awaited ? most : spent->awaited;
}

double finding_cycles_of(const Finder *f, TracePlace at, FindingPart *part, FindingClocks *late) {
    double cycles = 0;
    vec_for_each (line, &f->profile->ptx) {
        const SimSpent *spent = &line->spent;
        if (finding_is_at(line, at))
            cycles += (spent->cycles - spent->waits) * part(&line->count) +
                      late_clocks(f, line, part, late);
    }
    return cycles;
}

double finding_queued_of(const Finder *f, TracePlace at, FindingPart *part) {
    double cycles = 0;
    vec_for_each (line, &f->profile->ptx)
        if (finding_is_at(line, at))
            cycles += line->spent.queued * part(&line->count);
    return cycles;
}

static double part_beyond(uint64_t all, uint64_t ideal) {
    return all > ideal ? (double)(all - ideal) / (double)all : 0;
}

static double conflicting_part(const SimCount *count) {
    return part_beyond(count->wavefronts, count->ideal_wavefronts);
}

/* A pass more is a clock more until the result is there. */
static double conflicting_clocks(const SimCount *count) {
    return count->warps && count->wavefronts > count->ideal_wavefronts
               ? (double)(count->wavefronts - count->ideal_wavefronts) / (double)count->warps
               : 0;
}

static double scattered_part(const SimCount *count) {
    return part_beyond(count->sectors, count->ideal_sectors);
}

uint32_t finding_worst(const Finder *f, TracePlace at, FindingPart *part) {
    uint32_t worst = 0;
    double most = 0;
    vec_for_each (line, &f->profile->ptx) {
        const double cost = part(&line->count) * (double)line->count.warps;
        if (!finding_is_at(line, at) || cost <= most)
            continue;
        most = cost;
        worst = line->ptx_line;
    }
    return worst;
}

void finding_save_part(Finder *f, TracePlace at, FindingPart *part, FindingClocks *late) {
    vec_for_each (ptx, &f->profile->ptx)
        if (finding_is_at(ptx, at) && part(&ptx->count) > 0)
            finding_save(f, ptx, part(&ptx->count), late_clocks(f, ptx, part, late));
}

static void find_conflicts_counted(Finder *f) {
    vec_for_each (line, &f->profile->lines) {
        const SimCount *count = &line->count;
        if (count->wavefronts * 100 <= count->ideal_wavefronts * WORTH_PERCENT)
            continue;
        const double cycles = finding_cycles_of(f, line->at, conflicting_part, conflicting_clocks);
        const double queued = finding_queued_of(f, line->at, conflicting_part);
        finding_save_part(f, line->at, conflicting_part, conflicting_clocks);
        Finding *found =
            finding_add(f, line->at, cycles,
                        "%.1f wavefronts where 1 would do, %.0f more than that in a program; about "
                        "%.0f of %.0f clocks of a warp%s",
                        (double)count->wavefronts / (double)count->ideal_wavefronts,
                        (double)(count->wavefronts - count->ideal_wavefronts) / f->programs, cycles,
                        f->total, finding_queue_text(f, queued));
        if (!found)
            continue;
        found->ptx_line = finding_worst(f, line->at, conflicting_part);
        finding_own_banks(f, found);
    }
}

static void find_conflicts_predicted(Finder *f) {
    vec_for_each (buffer, &f->trace->buffers) {
        const double most = larger(buffer->banks_read, buffer->banks_written);
        if (most * 100 > WORTH_PERCENT)
            finding_add(f, buffer->at, 0, "%.1f wavefronts where 1 would do, by the layouts of %s",
                        most, buffer->name);
    }
}

const char *finding_queue_text(const Finder *f, double queued) {
    return queued >= 1 ? str_format(f->arena, ", %.0f of them in a queue for a busy unit", queued)
                       : "";
}

void find_bank_conflicts(Finder *f) {
    if (f->profile)
        find_conflicts_counted(f);
    else
        find_conflicts_predicted(f);
}

void find_uncoalesced(Finder *f) {
    if (!f->profile)
        return;
    const double sector = TARGET_SECTOR_BYTES / finding_figure(f, FIGURE_BYTES_L2);
    vec_for_each (line, &f->profile->lines) {
        const SimCount *count = &line->count;
        if (count->sectors * 100 <= count->ideal_sectors * WORTH_PERCENT)
            continue;
        const double extra = (double)(count->sectors - count->ideal_sectors) / f->programs;
        /* What nobody waits for costs nothing. */
        const double held_up = line->spent.cycles + line->spent.awaited;
        const double most = f->total > 0 && f->total < held_up ? f->total : held_up;
        const double moved = extra * sector < most ? extra * sector : most;
        const double cycles = larger(moved, finding_cycles_of(f, line->at, scattered_part, NULL));
        finding_save_part(f, line->at, scattered_part, NULL);
        f->saving.clocks = larger(f->saving.clocks, moved);
        f->saving.sectors = extra * f->programs / (double)f->profile->sum.sectors;
        Finding *found =
            finding_add(f, line->at, cycles,
                        "%.1f sectors where 1 would do: %.0f bytes of a program move for nothing, "
                        "about %.0f of %.0f clocks of a warp",
                        (double)count->sectors / (double)larger(1, (double)count->ideal_sectors),
                        extra * TARGET_SECTOR_BYTES, cycles, f->total);
        if (found)
            found->ptx_line = finding_worst(f, line->at, scattered_part);
    }
}

/* Waits */

static bool waits_for_copies(const ProfileLine *line) {
    const Str name = profile_opcode(line->text);
    return str_begins(name, "cp.async.wait_") || str_begins(name, "mbarrier.try_wait") ||
           str_begins(name, "mbarrier.test_wait");
}

/* The innermost loop that is at the place, or the first that has copies. */
static const TraceLoop *loop_at(const Trace *trace, TracePlace at) {
    const TraceLoop *found = NULL;
    vec_for_each (loop, &trace->loops)
        if (loop->stages > 1 && (!found || (loop->at.file == at.file && loop->at.line == at.line)))
            found = loop;
    return found;
}

static int64_t stage_bytes(const Trace *trace, const TraceLoop *loop) {
    int64_t bytes = 0;
    vec_for_each (buffer, &trace->buffers)
        if (buffer->copies == loop->stages && strcmp(buffer->type, "mbarrier") != 0)
            bytes += buffer->bytes / buffer->copies;
    return bytes;
}

/* A warp that starts copies waits too, for room, which holds nobody up: those are its instructions
 * that are executed by the fewest warps. */
void find_waiting_pipeline(Finder *f) {
    uint64_t most = 0;
    double waits = 0;
    const ProfileLine *worst = NULL;
    if (!f->profile || f->total <= 0)
        return;
    vec_for_each (line, &f->profile->ptx)
        if (waits_for_copies(line) && line->count.warps > most)
            most = line->count.warps;
    vec_for_each (line, &f->profile->ptx) {
        if (!waits_for_copies(line) || line->count.warps * 2 < most)
            continue;
        waits += line->spent.waits;
        worst = worst && worst->spent.waits >= line->spent.waits ? worst : line;
    }
    enum { WORTH_WAITING_PERCENT = 12 };
    if (!worst || finding_percent(f, waits) < WORTH_WAITING_PERCENT)
        return;
    const TraceLoop *loop = loop_at(f->trace, worst->at);
    const int64_t bytes = loop ? stage_bytes(f->trace, loop) : 0;
    const KernelMeta *meta = &f->trace->compiled->facts.meta;
    const char *asked =
        loop ? str_format(f->arena, ", %" PRId64 " asked for by %s%s", loop->asked,
                          finding_stages_name(f, loop),
                          loop->stages > loop->asked ? " and one more beside products in flight"
                                                     : "")
             : "";
    f->saving.clocks = waits;
    Finding *found =
        finding_add(f, loop ? loop->at : worst->at, waits,
                    "%.0f of %.0f clocks of a warp (%.0f%%) go by waiting for copies in %" PRId64
                    " stages of %" PRId64 " bytes%s; %d of %d bytes of shared memory are taken",
                    waits, f->total, finding_percent(f, waits), loop ? loop->stages : 1, bytes,
                    asked, f->trace->shared, meta->target->shared_per_block);
    if (!found)
        return;
    found->ptx_line = worst->ptx_line;
    const char *advice = finding_copy_advice(f, loop, bytes, waits);
    found->remedy = advice ? advice : found->remedy;
}

static bool is_global_load(const ProfileLine *line) {
    return !strcmp(line->class, "global") && str_begins(profile_opcode(line->text), "ld.");
}

void find_load_latency(Finder *f) {
    enum { WORTH_AWAITING_PERCENT = 15 };
    if (!f->profile || f->total <= 0)
        return;
    vec_for_each (line, &f->profile->lines) {
        double awaited = 0;
        const ProfileLine *worst = NULL;
        vec_for_each (ptx, &f->profile->ptx) {
            if (!finding_is_at(ptx, line->at) || !is_global_load(ptx))
                continue;
            awaited += ptx->spent.awaited;
            worst = worst && worst->spent.awaited >= ptx->spent.awaited ? worst : ptx;
        }
        if (!worst || finding_percent(f, awaited) < WORTH_AWAITING_PERCENT)
            continue;
        f->saving.clocks = awaited;
        f->must_gain = finding_is_bound_by_memory(f);
        Finding *found = finding_add(
            f, line->at, awaited,
            "%.0f of %.0f clocks of a warp (%.0f%%) go by waiting for what this line loads",
            awaited, f->total, finding_percent(f, awaited));
        if (!found)
            continue;
        found->ptx_line = worst->ptx_line;
        found->remedy = finding_load_advice(f, line->at);
    }
}

void find_barriers(Finder *f) {
    enum { WORTH_MEETING_PERCENT = 10 };
    if (!f->profile || f->total <= 0)
        return;
    vec_for_each (line, &f->profile->lines) {
        double waits = 0;
        uint64_t warps = 0;
        uint32_t worst = 0;
        vec_for_each (ptx, &f->profile->ptx) {
            const Str name = profile_opcode(ptx->text);
            if (!finding_is_at(ptx, line->at) || strcmp(ptx->class, "barrier") != 0 ||
                !(str_begins(name, "bar.") || str_begins(name, "barrier.")))
                continue;
            waits += ptx->spent.waits;
            warps += ptx->count.warps;
            worst = worst ? worst : ptx->ptx_line;
        }
        if (finding_percent(f, waits) < WORTH_MEETING_PERCENT)
            continue;
        const double passes =
            (double)warps / f->programs / f->trace->compiled->facts.meta.num_warps;
        f->saving.clocks = waits;
        Finding *found = finding_add(
            f, line->at, waits,
            "%.0f of %.0f clocks of a warp (%.0f%%) go by waiting for other warps, at %.0f "
            "barriers of a program",
            waits, f->total, finding_percent(f, waits), passes);
        if (found)
            found->ptx_line = worst;
    }
}

/* Was an access of that line told before, with as much to gain? */
static bool is_told(const Finder *f, const TraceAccess *access) {
    for (const TraceAccess *other = f->trace->accesses.data; other != access; other++)
        if (other->at.file == access->at.file && other->at.line == access->at.line &&
            other->bytes == access->bytes && other->possible == access->possible)
            return true;
    return false;
}

static void save_global(Finder *f, TracePlace at, double part) {
    if (f->profile)
        vec_for_each (ptx, &f->profile->ptx)
            if (finding_is_at(ptx, at) && !strcmp(ptx->class, "global"))
                finding_save(f, ptx, part, 0);
}

void find_scalar_access(Finder *f) {
    vec_for_each (access, &f->trace->accesses) {
        const double wider = (double)access->possible / (double)access->bytes;
        if (wider < 2 || is_told(f, access))
            continue;
        const double cycles = finding_line_cycles(f, access->at) * (1 - 1 / wider) / 2;
        save_global(f, access->at, 1 - 1 / wider);
        const bool aligned = access->aligned >= access->possible;
        Finding *found = finding_add(f, access->at, cycles,
                                     "%" PRId64 " bytes at a time where %" PRId64
                                     " would do: %s %" PRId64 " bytes",
                                     access->bytes, access->possible,
                                     aligned ? "its mask may end within what is aligned to"
                                             : "addresses are only known to be multiples of",
                                     access->aligned);
        if (found && aligned)
            found->remedy =
                "Promise what is true of what the mask compares with: sizes as i32:16, or "
                "tl.multiple_of in the kernel.";
    }
}
