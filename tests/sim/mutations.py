"""The table of planted faults, by subject. What a row needs: see Fault and Equivalent."""
from dataclasses import dataclass
from typing import Callable

from edits import both, change, guard_like, insert, less_shared, move, remove, unguard

RESULT = ()  # of Fault.finds: any finding, or a result that differs


@dataclass(frozen=True)
class Fault:
    kind: str
    name: str
    edit: Callable
    finds: tuple  # names of diagnostics, one of which must be reported; RESULT
    some_schedule: bool = False  # what is wrong only happens in some order of warps: one schedule must find it


@dataclass(frozen=True)
class Equivalent:
    """A change that means the same for every launch, or for the subject's."""

    name: str
    edit: Callable
    proof: str


def finds(kind, name, edit, *ids, **options):
    return Fault(kind, name, edit, tuple(f"sim_{one}" for one in ids), **options)


def differs(kind, name, edit):
    return Fault(kind, name, edit, RESULT)


BAR = r"\bbar\.sync\s+0;"
SHFL = r"shfl\.sync\.bfly"
LOAD, STORE = r"ld\.global", r"st\.global"
SHARED_LOAD, SHARED_STORE = r"ld\.shared", r"st\.shared"


def displace(pattern, offset, at=0):
    """Adds to the address of an access."""
    return change(r"(" + pattern + r"[^\[]*\[[^\]]+)\]", rf"\1+{offset}]", at)


def exchange(at, threads):
    """Faults of one exchange between warps: lane 0 of each stores a word, barrier `at`, all threads load them."""
    return [
        finds("barrier", f"barrier {at} removed", remove(BAR, at), "shared_race"),
        finds("barrier", f"barrier {at} not waited at", change(BAR, f"bar.arrive 0, {threads};", at), "shared_race"),
        finds("barrier", f"barrier {at} where only lane 0 goes", guard_like(BAR, SHARED_STORE, at), "diverged"),
        finds("count", f"barrier {at} for one warp", change(BAR, "bar.sync 0, 32;", at), "shared_race"),
        finds("count", f"barrier {at} for more threads than there are",
              change(BAR, f"bar.sync 0, {threads + 32};", at), "barrier_count"),
        finds("order", f"store {at} behind its barrier", move(SHARED_STORE, BAR, at, at), "shared_race"),
        finds("order", f"load {at} before its barrier", move(SHARED_LOAD, BAR, at, at, before=True), "shared_race"),
        finds("alignment", f"load {at} one word further", displace(SHARED_LOAD, 4, at), "misaligned"),
        Equivalent(f"every lane stores in exchange {at}", unguard(SHARED_STORE, at),
                   "The shuffles before it leave the same value in all lanes of a warp, and they store it to one address."),
        Equivalent(f"barrier {at} has another number", change(BAR, "bar.sync 7;", at),
                   "All warps come to this one instruction, and no other one uses barrier 7."),
    ]


def two_exchanges(threads, stride):
    """Two exchanges in places of their own: the second one's store comes without a barrier after the first one's load."""
    return [
        *exchange(0, threads),
        *exchange(1, threads),
        finds("overlap", "second exchange in the place of the first",
              both(displace(SHARED_STORE, -stride, 1), displace(SHARED_LOAD, -stride, 1)), "shared_race"),
        finds("offset", "second exchange read behind its place", displace(SHARED_LOAD, threads // 8, 1),
              "undefined", "shared_bounds"),
        differs("offset", "second exchange read where the first was", displace(SHARED_LOAD, -stride, 1)),
    ]


TABLE = {
    "vector_add": [
        finds("mask", "mask of a load dropped", unguard(LOAD), "out_of_bounds"),
        finds("mask", "mask of the store dropped", unguard(STORE), "out_of_bounds"),
        finds("mask", "mask admits one element more", change(r"setp\.lt\.s32", "setp.le.s32"), "out_of_bounds"),
        finds("alignment", "store one element further", displace(STORE, 2), "misaligned"),
        finds("alignment", "load one element further", displace(LOAD, 2), "misaligned"),
        finds("offset", "load one vector further", displace(LOAD, 16), "out_of_bounds"),
        differs("offset", "store one vector earlier", displace(STORE, -16)),
        differs("offset", "blocks of half the size", change(r"(shl\.b32.*), 8;", r"\1, 7;")),
        differs("size", "half of a vector stored", change(STORE + r"\.v4(\.b32[^{]*)\{(%r\d+), (%r\d+), .*", r"st.global.v2\1{\2, \3};")),
    ],
    "silu_mul": [
        finds("mask", "mask of the last load dropped", unguard(LOAD, -1), "out_of_bounds"),
        finds("mask", "programs beyond the grid run", unguard(r"bra"), "out_of_bounds"),
        differs("offset", "gate read for up", change(r"(add\.s64\s+%rd\d+, %rd\d+, )%rd\d+;", r"\g<1>0;", -3)),
    ],
    "softmax": [
        differs("shuffle", "lanes 8 apart instead of 16", change(SHFL + r"(.*), 16, 31", r"shfl.sync.bfly\1, 8, 31")),
        differs("shuffle", "halves of the warp kept apart", change(SHFL + r"(.*), 16, 31", r"shfl.sync.bfly\1, 16, 4111")),
        differs("shuffle", "a step of the sum left out",
                change(SHFL + r"\.b32\s+(%r\d+), (%r\d+), 4.*", r"mov.b32 \1, 0;", 1)),
        finds("shuffle", "member mask without lane 31", change(r", 31, -1;", ", 31, 2147483647;"), "not_member"),
        finds("shuffle", "lanes without data stay away", guard_like(SHFL, STORE, 0, -1), "deadlock"),
        differs("mask", "mask of a load dropped", unguard(LOAD, -1)),
        differs("mask", "mask of a store dropped", unguard(STORE, -1)),
        differs("mask", "masked elements are +inf", change(r"mov\.b32(.*), -67044352;", r"mov.b32\1, 2080406528;")),
        finds("mask", "programs beyond the grid run", unguard(r"bra"), "out_of_bounds"),
    ],
    "softmax_two_pass": [
        *two_exchanges(64, 16),
        finds("size", "launched with too little shared memory", less_shared(16), "shared_bounds"),
        differs("count", "the loop begins one step late", change(r"mov\.b32(\s+%r\d+), 0;", r"mov.b32\1, 1024;")),
    ],
    "layernorm": [
        *two_exchanges(128, 16),
        finds("count", "barrier 0 for half of the warps", change(BAR, "bar.sync 0, 64;", 0), "shared_race"),
        finds("overlap", "two warps in one place", change(r"(and\.b32\s+%r\d+, %r\d+, )12;", r"\g<1>4;"), "shared_race"),
        differs("mask", "masked elements are 1", change(r"mov\.b32(\s+%r\d+), 0;", r"mov.b32\1, 1006648320;")),
        Equivalent("every thread stores the mean", unguard(STORE + r"\.b32", 0),
                   "The mean comes from the exchange and is the same in all threads; they store it to one address."),
    ],
    "layernorm_backward": [
        differs("count", "rows in steps of one more", change(r"(add\.s32\s+%r\d+, %r\d+, )%r\d+;", r"\g<1>6;", -2)),
        differs("mask", "mask of a partial row dropped", unguard(STORE, -1)),
        finds("mask", "programs beyond the grid run", remove(r"@%p1\s+bra"), "out_of_bounds"),
        finds("offset", "all programs in one partial row", change(r"mul\.wide\.s32(\s+%rd\d+), .*", r"mov.b64\1, 0;", -1),
              "global_race"),
        differs("size", "part of a row stored", remove(STORE, 1)),
    ],
    "layernorm_backward_sum": [
        finds("barrier", "barrier removed", remove(BAR), "shared_race"),
        finds("order", "a store behind the barrier", move(SHARED_STORE, BAR, 1), "shared_race"),
        finds("overlap", "second sum in the place of the first", change(r"(add\.s32\s+%r\d+, %r\d+, )1024;", r"\g<1>0;"),
              "undefined"),
        finds("overlap", "second sum half over the first", change(r"(add\.s32\s+%r\d+, %r\d+, )1024;", r"\g<1>256;"),
              "shared_race"),
        differs("mask", "mask of the last rows dropped", unguard(LOAD, 4)),
        finds("size", "launched with too little shared memory", less_shared(512), "shared_bounds"),
        finds("alignment", "exchange 8 bytes further", displace(SHARED_STORE, 8), "misaligned"),
        differs("count", "a step of the loop left out", change(r"(setp\.gt\.u32\s+%p\d+, %r\d+, )32;", r"\g<1>64;")),
    ],
    "cross_entropy": [
        *two_exchanges(64, 16),
        differs("mask", "the ignored target inverted", change(r"setp\.ne\.b64", "setp.eq.b64")),
        differs("offset", "logit beside the target's", displace(LOAD + r"\.b16", 2)),
        finds("alignment", "target of 8 bytes at a multiple of 4", displace(LOAD + r"\.b64", 4), "misaligned"),
    ],
    "reduce_sum": [
        finds("order", "sum read, added and written without an atomic",
              change(r"(@%p\d+) red\.release\.gpu\.global\.add\.f32 (\[%rd\d+\]), (%r\d+);",
                     r"{ .reg .f32 t; \1 ld.global.f32 t, \2; \1 add.f32 t, t, \3; \1 st.global.f32 \2, t; }"), "global_race"),
        finds("scope", "atomic of the program's scope", change(r"red\.release\.gpu", "red.release.cta"), "global_race"),
        differs("mask", "every lane adds the sum", unguard(r"red\.")),
        differs("shuffle", "a step of the sum left out", remove(r"shfl\.sync\.bfly", 2)),
        Equivalent("relaxed atomic", change(r"red\.release", "red.relaxed"),
                   "No program reads what another one wrote before its atomic."),
        Equivalent("no barrier of the warp before the atomic", remove(r"bar\.warp\.sync", 0),
                   "It orders accesses to memory, and the warp has only read arrays that nobody writes."),
        Equivalent("no barrier of the warp after the atomic", remove(r"bar\.warp\.sync", 1),
                   "No access to memory follows."),
    ],
    "transpose": [
        finds("barrier", "barrier removed", remove(BAR), "shared_race"),
        finds("order", "a store behind the barrier", move(SHARED_STORE, BAR, 2), "shared_race"),
        finds("order", "barrier behind a load", move(BAR, SHARED_LOAD), "shared_race"),
        finds("count", "barrier for half of the warps", change(BAR, "bar.sync 0, 64;"), "shared_race"),
        differs("swizzle", "store swizzled by 24, not 16", change(r"(xor\.b32\s+%r\d+, %r\d+, )16;", r"\g<1>24;")),
        differs("swizzle", "store not swizzled", change(r"(xor\.b32\s+%r\d+, %r\d+, )48;", r"\g<1>0;")),
        differs("swizzle", "load swizzled by 8, not 16", change(r"(xor\.b32\s+%r\d+, %r\d+, )16;", r"\g<1>8;", 1)),
        finds("overlap", "second part over the first", change(r"(add\.s32\s+%r\d+, %r\d+, )2048;", r"\g<1>0;"),
              "shared_race", "undefined"),
        finds("mask", "mask of a load dropped", unguard(LOAD, -1), "out_of_bounds"),
        finds("mask", "mask of a store dropped", unguard(STORE, -1), "out_of_bounds"),
        differs("offset", "strides exchanged", both(change(r"transpose_param_2", "transpose_param_X", 1),
                                                    change(r"transpose_param_3", "transpose_param_2", 1),
                                                    change(r"transpose_param_X", "transpose_param_3"))),
    ],
    "gemm_cp_async": [
        finds("wait", "wait for all but two groups", change(r"wait_group 1", "wait_group 2"), "copy_race"),
        finds("wait", "wait removed", remove(r"wait_group"), "copy_race"),
        finds("order", "wait behind the barrier", move(r"wait_group", BAR), "copy_race", "shared_race"),
        finds("barrier", "barrier removed", remove(BAR), "shared_race"),
        finds("barrier", "barrier before the first copies, not before the computation",
              both(remove(BAR), insert("  bar.sync 0;", r"^LOOP", before=True)), "shared_race"),
        finds("barrier", "one warp does not wait",
              both(insert("  setp.ne.u32 %p9, %r6, 3;", BAR, before=True), change(BAR, "@%p9 bar.sync 0;")), "shared_race"),
        finds("count", "barrier for three of four warps", change(BAR, "bar.sync 0, 96;"), "shared_race"),
        finds("commit", "commit dropped", remove(r"commit_group"), "copy_race"),
        finds("commit", "commit before the copies", move(r"commit_group", r"^COPY"), "copy_race"),
        finds("commit", "no commit without copies", move(r"^COMMIT", r"commit_group"), "copy_race"),
        finds("count", "two stages for three", change("18432;", "12288;"), "copy_race", "shared_race"),
        finds("overlap", "stages of 4096 bytes",
              both(*[change("6144;", "4096;")] * 3, change("18432;", "12288;")), "copy_race", "shared_race"),
        finds("overlap", "B over the second half of A", change(r"%r35\+4096", "%r35+2048"), "shared_race", "copy_race"),
        finds("size", "copies of 8 bytes of B", change(r"cp\.async\.cg(.*\+4096\], \[%rd6\]), 16", r"cp.async.ca\1, 8"),
              "undefined"),
        finds("size", "stages one chunk too small", change(r"\[18432\]", "[18416]"), "shared_bounds"),
        finds("size", "copies of 12 bytes", change(r"(\[%rd6\]), 16", r"\1, 12"), "copy_size"),
        finds("alignment", "stages 8 bytes further", change(r"mov\.u32 %r9, stages", "add.u32 %r9, stages, 8"), "misaligned"),
        finds("alignment", "row of ldmatrix 8 bytes further", change(r"\+5120", "+5128"), "misaligned"),
        finds("offset", "row of ldmatrix in no stage", change(r"%r39\+5120", "%r39+17408"), "shared_bounds", "undefined"),
        differs("offset", "k 16 to 31 of B read as 0 to 15", change(r"\+5120", "+4096")),
        finds("count", "one tile of k too many", change(r"setp\.ge\.u32 %p4", "setp.gt.u32 %p4"), "out_of_bounds"),
        differs("count", "one iteration too few", change(r"add\.u32 %r30, %r29, 2", "add.u32 %r30, %r29, 1")),
        differs("swizzle", "copies not swizzled", change(r"xor\.b32 %r12, %r11, %r12", "mov.b32 %r12, %r11")),
        differs("swizzle", "copies swizzled by the row, not half of it", change(r"shr\.u32 %r12, %r10, 1", "mov.u32 %r12, %r10")),
        differs("swizzle", "ldmatrix not swizzled", change(r"xor\.b32 %r27, %r23, %r24", "mov.b32 %r27, %r23")),
        differs("order", "B not transposed", change(r"x4\.trans", "x4", 0)),
        differs("order", "columns of B exchanged", change(r"\{%b0, %b1\}", "{%b2, %b3}", 2)),
        finds("mask", "mask of a store dropped", unguard(STORE, -1), "out_of_bounds"),
        finds("mask", "rows beyond m copied",
              both(change(r", %r19;", ";"), remove(r"selp\.b32 %r18")), "out_of_bounds"),
        finds("order", "an accumulator not cleared", remove(r"mov\.f32 %c5"), "undefined"),
        finds("barrier", "ldmatrix without the upper lanes",
              both(insert("  setp.lt.u32 %p9, %r5, 16;", r"ldmatrix", before=True), change(r"^(\s*)ldmatrix", r"\1@%p9 ldmatrix")),
              "diverged", "undefined"),
        Equivalent("rows beyond m copied from row 0", change(r", %r19;", ";"),
                   "Their address is clamped to row 0, and no row beyond m is stored."),
        Equivalent("rows beyond m keep their address", remove(r"selp\.b32 %r18"),
                   "A copy of no source bytes reads nothing, wherever it points."),
    ],
    "gemm_tma_wgmma": [
        finds("wait", "full stage not waited for", remove(r"@!%p4 bra FULL"), "copy_race", "undefined", "shared_race",
              some_schedule=True),
        finds("wait", "full stage waited for with the other parity",
              insert("  xor.b32 %r12, %r12, 1;", r"^FULL", before=True), "copy_race", "deadlock", "mbarrier_overrun"),
        finds("wait", "empty stage not waited for", remove(r"@!%p4 bra EMPTY"), "matrix_race", "mbarrier_count", "copy_race",
              "shared_race", some_schedule=True),
        finds("wait", "empty stage waited for with the other parity", remove(r"xor\.b32 %r12, %r12, 1"), "deadlock", "step_limit"),
        finds("wait", "two groups left in flight", change(r"wait_group\.sync\.aligned 1", "wait_group.sync.aligned 2"),
              "matrix_race"),
        finds("wait", "last group left in flight", change(r"wait_group\.sync\.aligned 0", "wait_group.sync.aligned 1"),
              "wgmma_in_flight"),
        finds("wait", "last group not waited for", remove(r"wgmma\.wait_group\.sync\.aligned 0"), "wgmma_in_flight"),
        finds("fence", "wgmma.fence removed", remove(r"wgmma\.fence"), "wgmma_first_fence", "wgmma_fence"),
        finds("fence", "fence of the mbarriers removed", remove(r"fence\.mbarrier_init"), "mbarrier_unfenced"),
        finds("fence", "proxy fence before the tile is stored removed", remove(r"fence\.proxy\.async"), "proxy_fence"),
        finds("fence", "proxy fence of one thread", change(r"fence\.proxy\.async", "@!%p1 fence.proxy.async"), "proxy_fence"),
        finds("order", "a store of the tile behind the fence", move(SHARED_STORE, r"fence\.proxy", 7), "proxy_fence"),
        finds("barrier", "barrier behind the initialisation removed", remove(BAR), "mbarrier_none", "mbarrier_unordered"),
        finds("barrier", "barrier before the tile is stored removed", remove(r"barrier\.sync\.aligned 1"), "shared_race", "proxy_fence"),
        finds("count", "barrier before the tile is stored of three warps",
              change(r"barrier\.sync\.aligned 1, 128", "barrier.sync.aligned 1, 96"), "shared_race", "proxy_fence", "deadlock"),
        finds("commit", "wgmma group not committed", remove(r"wgmma\.commit_group"), "wgmma_in_flight", "matrix_race"),
        finds("commit", "copy of the tile not committed", remove(r"cp\.async\.bulk\.commit_group"), "bulk_exit"),
        finds("wait", "copy of the tile not waited for", remove(r"cp\.async\.bulk\.wait_group 0"), "bulk_exit"),
        finds("count", "too few bytes expected", change(r", 12288;", ", 12272;"), "copy_race", "mbarrier_tx", "deadlock"),
        finds("count", "too many bytes expected", change(r", 12288;", ", 12304;"), "deadlock", "step_limit"),
        finds("count", "bytes of A only expected", change(r", 12288;", ", 8192;"), "copy_race", "mbarrier_tx", "deadlock"),
        finds("count", "full waits for two arrivals", change(r"(init\.shared::cta\.b64 \[%r5\+8\]), 1", r"\1, 2"), "deadlock", "step_limit"),
        finds("count", "empty waits for three warps", change(r"(init\.shared::cta\.b64 \[%r6\]), 4", r"\1, 3"),
              "matrix_race", "shared_race", "mbarrier_overrun"),
        finds("count", "empty waits for five warps", change(r"(init\.shared::cta\.b64 \[%r6\]), 4", r"\1, 5"), "deadlock", "step_limit"),
        finds("count", "every lane gives the stage back", unguard(r"mbarrier\.arrive\.shared"), "mbarrier_count", "mbarrier_overrun"),
        finds("order", "stage given back before its group is done", move(r"wait_group\.sync\.aligned 1", r"^FIRST", before=True),
              "matrix_race", "shared_race"),
        finds("order", "copies before the stage is empty",
              both(move(r"\[%rd1, \{%r15", r"^EMPTY", before=True), move(r"mov\.u32 %r16, 0", r"^EMPTY", before=True),
                   move(r"shl\.b32 %r15", r"^EMPTY", before=True), move(r"mad\.lo\.u32 %r13", r"^EMPTY", before=True)), "matrix_race",
              "copy_race", "shared_race", "undefined"),
        finds("order", "wrong stage given back", remove(r"xor\.b32 %r9, %r9, 8"), "matrix_race", "deadlock"),
        finds("overlap", "B over the end of A", change(r"add\.u32 %r14, %r13, 8192", "add.u32 %r14, %r13, 7168"),
              "copy_race", "shared_race"),
        finds("overlap", "stages 8192 bytes apart", both(change(", 12288, %r4", ", 8192, %r4"), change(", 12288, %r4", ", 8192, %r4")),
              "copy_race", "matrix_race", "shared_race"),
        finds("alignment", "destination 64 bytes further", change(r"add\.u32 %r14, %r13, 8192", "add.u32 %r14, %r13, 8256"),
              "bulk_align"),
        differs("swizzle", "descriptor of the 64-byte swizzle", change("0x40000040", "0x80000040")),
        differs("swizzle", "descriptor without a swizzle", change("0x40000040", "0x00000040")),
        differs("descriptor", "512 bytes between groups of rows", change("0x40000040", "0x40000020")),
        finds("descriptor", "B beyond the stages", change(r"add\.u64 %rd6, %rd5, 512", "add.u64 %rd6, %rd5, 2048"), "shared_bounds", "undefined", "shared_race", "mbarrier_overwritten"),
        differs("descriptor", "B read where A is", change(r"add\.u64 %rd6, %rd5, 512", "add.u64 %rd6, %rd5, 0")),
        differs("descriptor", "step of 16 bytes in k", change(r"add\.u64 %rd5, %rd5, 2", "add.u64 %rd5, %rd5, 1")),
        finds("descriptor", "reserved bits of the descriptor", change("0x40000040", "0x40010040"), "descriptor_bits"),
        differs("order", "A taken as transposed", change(r"1, 1, 0, 0", "1, 1, 1, 0", 3)),
        differs("mask", "a step of k does not accumulate", change(r"setp\.eq\.u32 %p6, %r2, %r2", "setp.ne.u32 %p6, %r7, %r7")),
        differs("count", "one step of k too few", change(r"shr\.u32 %r1, %r1, 6", "shr.u32 %r1, %r1, 7")),
        differs("offset", "copies of the first columns of B", change(r"\{%r15, %r3\}", "{%r15, %r16}")),
        differs("offset", "rows of the tile 8 bytes further", change(r"%r19\+1120", "%r19+1112")),
        finds("order", "an accumulator not cleared", remove(r"mov\.f32 %d5"), "undefined"),
        finds("order", "an accumulator read in flight", insert("  add.f32 %d3, %d3, 0f00000000;", r"wgmma\.commit_group"), "wgmma_in_flight"),
        finds("barrier", "one warp of the group stays away",
              insert("  setp.ge.u32 %p9, %r2, 96;\n  @%p9 bra END;", r"^CONSUME:", before=True), "wgmma_missing", "deadlock"),
        finds("barrier", "wgmma without the upper lanes",
              insert("  setp.ge.u32 %p9, %r17, 16;\n  @%p9 bra END;", r"^CONSUME:", before=True), "wgmma_group", "diverged"),
        Equivalent("groups waited for one by one", change(r"wait_group\.sync\.aligned 1", "wait_group.sync.aligned 0"),
                   "A wait for more groups than needed only takes time."),
        finds("order", "proxy fence behind the barrier", move(r"fence\.proxy", r"barrier\.sync\.aligned 1"), "proxy_fence"),
        Equivalent("no shared memory of the proxy fence named", change(r"fence\.proxy\.async\.shared::cta", "fence.proxy.async"),
                   "A fence for all memory is one for shared memory too."),
    ],
    "named_barriers": [
        finds("barrier", "consumers do not wait for a full buffer", remove(r"barrier\.sync\.aligned %r12"), "shared_race"),
        finds("barrier", "producer does not wait for an empty buffer", remove(r"barrier\.sync\.aligned %r11"),
              "shared_race", "deadlock"),
        finds("barrier", "producer does not say that a buffer is full", remove(r"barrier\.arrive\.aligned %r12"), "deadlock"),
        finds("barrier", "consumers do not say that a buffer is empty", remove(r"barrier\.arrive\.aligned %r11"), "deadlock"),
        finds("order", "full before it is", move(SHARED_STORE, r"barrier\.arrive\.aligned %r12", 1), "shared_race"),
        finds("order", "empty before it is read",
              both(move(r"add\.f32 %f3", r"^KEPT"), move(r"ld\.shared\.f32 %f4", r"^KEPT")), "shared_race"),
        finds("count", "full barrier for the consumers only", change(r"(barrier\.sync\.aligned %r12), 96", r"\1, 64"),
              "barrier_mismatch", "shared_race"),
        finds("count", "producer counts one warp less", change(r"(barrier\.arrive\.aligned %r12), 96", r"\1, 64"),
              "barrier_mismatch", "shared_race"),
        finds("count", "number of a barrier too high", change(r"add\.u32 %r11, %r10, 3", "add.u32 %r11, %r10, 15", 1),
              "barrier_number"),
        finds("count", "one tile too many", change(r"setp\.lt\.u32 %p3", "setp.le.u32 %p3"), "out_of_bounds"),
        finds("count", "last buffers not given back", change(r"sub\.u32 %r18, %r1, 2", "sub.u32 %r18, %r1, 3"), "deadlock"),
        finds("overlap", "buffers overlap", change(r"add\.u32 %r6, %r5, 256", "add.u32 %r6, %r5, 128"), "shared_race"),
        finds("barrier", "consumers' lanes part", change(r"setp\.ge\.u32 %p1, %r2, 32", "setp.ge.u32 %p1, %r2, 16"), "diverged"),
        finds("barrier", "barrier of the warp removed", remove(r"bar\.warp\.sync"), "shared_race"),
        finds("shuffle", "barrier of the warp for its lower half", change("0xffffffff", "0x0000ffff"), "not_member"),
        finds("swizzle", "mirror in the other warp", change(r"xor\.b32 %r22, %r20, 124", "xor.b32 %r22, %r20, 252"), "shared_race"),
        differs("swizzle", "mirror of half a warp", change(r"xor\.b32 %r22, %r20, 124", "xor.b32 %r22, %r20, 60")),
        differs("offset", "element beside the mirror", change(r"sub\.u32 %r15, 63", "sub.u32 %r15, 62")),
    ],
    "multicast": [
        finds("mask", "multicast to the first program only", change(r"%h1, 3", "%h1, 1"), "deadlock", "step_limit"),
        finds("mask", "multicast to the second program only", change(r"%h1, 3", "%h1, 2"), "deadlock", "step_limit"),
        finds("mask", "multicast to a program that is not there", change(r"%h1, 3", "%h1, 7"), "bulk_multicast"),
        finds("mask", "multicast to nobody", change(r"%h1, 3", "%h1, 0"), "bulk_multicast"),
        finds("mask", "both programs multicast", remove(r"@%p2 bra ISSUED"), "copy_race", "mbarrier_tx", "mbarrier_overrun", "deadlock"),
        finds("wait", "copy not waited for", remove(r"@!%p4 bra FULL"), "copy_race", "undefined", "shared_race", "mbarrier_count",
              some_schedule=True),
        finds("wait", "copy waited for with the other parity", insert("  xor.b32 %r9, %r9, 1;", r"^FULL", before=True),
              "copy_race", "undefined", "deadlock", "mbarrier_overrun"),
        finds("count", "too few bytes expected", change(r"\[%r4\], 256", "[%r4], 240"), "deadlock", "mbarrier_tx", "copy_race"),
        finds("count", "too many bytes expected", change(r"\[%r4\], 256", "[%r4], 272"), "deadlock", "step_limit"),
        finds("fence", "fence of the mbarriers removed", remove(r"fence\.mbarrier_init"), "mbarrier_unfenced"),
        finds("barrier", "programs do not meet before the first copy",
              both(remove(r"cluster\.arrive", 0), remove(r"cluster\.wait", 0)), "mbarrier_none", "mbarrier_unordered", "cluster_start",
              "undefined"),
        finds("barrier", "programs do not meet behind a tile", both(remove(r"cluster\.arrive", 1), remove(r"cluster\.wait", 1)),
              "shared_race", "copy_race", "cluster_exit"),
        finds("order", "arrival before the tile is read", move(r"cluster\.arrive", r"ld\.shared", 1, 0, before=True), "shared_race",
              "copy_race"),
    ],
    "chained_sums": [
        finds("fence", "flag published without release", change(r"st\.release", "st.relaxed"), "global_race"),
        finds("fence", "flag read without acquire", change(r"ld\.acquire", "ld.relaxed"), "global_race"),
        finds("fence", "flag read by a plain load", change(r"ld\.acquire\.gpu", "ld"), "global_race"),
        finds("fence", "flag written by a plain store", change(r"st\.release\.gpu", "st"), "global_race"),
        finds("scope", "flag published within the program", change(r"st\.release\.gpu", "st.release.cta"), "global_race"),
        finds("scope", "flag read within the program", change(r"ld\.acquire\.gpu", "ld.acquire.cta"), "global_race"),
        finds("barrier", "barrier after the flag is read removed", remove(BAR, 0), "global_race"),
        finds("barrier", "barrier before the flag is published removed", remove(BAR, 1), "global_race"),
        finds("order", "flag published before the sums", move(STORE, r"st\.release"), "global_race"),
        finds("wait", "flag not waited for", remove(r"@%p3 bra WAIT"), "global_race", some_schedule=True),
        finds("wait", "own flag waited for", change(r"%rd8\+-4", "%rd8"), "step_limit", "deadlock"),
        finds("offset", "flag of the next program", change(r"(st\.release.*\[%rd8)\]", r"\1+4]"), "step_limit"),
        finds("mask", "first program reads what is before it", remove(r"@%p2 bra ADD"), "before_begin"),
    ],
    "last_program": [
        finds("fence", "fence before the count removed", remove(r"fence", 0), "global_race"),
        finds("fence", "fence after the count removed", remove(r"fence", 1), "global_race"),
        finds("scope", "fence of the program's scope", change(r"fence\.acq_rel\.gpu", "fence.acq_rel.cta"), "global_race"),
        finds("scope", "count of the program's scope", change(r"atom\.relaxed\.gpu", "atom.relaxed.cta"), "global_race"),
        finds("order", "counted before the part is written", move(STORE, r"atom\."), "global_race"),
        finds("order", "count without an atomic",
              change(r"atom\.relaxed\.gpu\.global\.add\.u32 %r9, \[%rd3\], 1;",
                     "ld.global.u32 %r9, [%rd3]; add.u32 %r13, %r9, 1; st.global.u32 [%rd3], %r13;"), "global_race"),
        finds("barrier", "barrier before the sums are read removed", remove(BAR, 0), "shared_race"),
        finds("barrier", "barrier before the answer is read removed", remove(BAR, 1), "shared_race"),
        differs("count", "no program is last", change(r"add\.u32 %r9, %r9, 1", "add.u32 %r9, %r9, 0")),
        finds("count", "the last but one takes itself for the last", change(r"add\.u32 %r9, %r9, 1", "add.u32 %r9, %r9, 2"),
              "global_race"),
    ],
}
