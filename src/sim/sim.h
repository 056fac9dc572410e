/* The PTX simulator: runs the text that ships, checks and counts. See docs/simulator.md.
 *
 * A module is parsed once and launched any number of times. Memory is what kernels may touch:
 * arrays of the host, mapped at addresses of their own. Everything lies in the arenas of the
 * context; findings are diagnostics at the PTX instruction, with a note at the line it was compiled
 * from. A context and what belongs to it are used by one thread at a time. */
#ifndef TILEC_SIM_SIM_H
#define TILEC_SIM_SIM_H
#include "support/ctx.h"

typedef struct SimModule SimModule;
typedef struct SimMemory SimMemory;
typedef struct SimCounts SimCounts;

/* Reads the PTX of a source. NULL after reports. */
SimModule *sim_parse(Ctx *ctx, uint32_t file);
/* The same for modules of several contexts that are launched on one memory: their variables lie in
 * the slots 1 to SIM_SLOTS - 1, of which each such module has its own. sim_parse takes the number
 * of the source. */
SimModule *sim_parse_at(Ctx *ctx, uint32_t file, uint32_t slot);
enum { SIM_SLOTS = 4096 };

/* A kernel of a module: its parameters and what its directives ask for. */
typedef struct SimKernel {
    Str name;
    uint32_t param_count;
    uint32_t reqntid[3]; /* threads of a program; 0: not given */
    uint32_t maxntid[3];
    uint32_t cluster[3];      /* programs of a cluster (.reqnctapercluster); 0: not given */
    bool blocks_are_clusters; /* a launch counts clusters (.blocksareclusters) */
    uint64_t static_shared;   /* bytes */
} SimKernel;

uint32_t sim_kernel_count(const SimModule *module);
/* By number, below `sim_kernel_count`. */
SimKernel sim_kernel(const SimModule *module, uint32_t index);
/* False when there is none of that name; an empty name finds the only kernel. */
bool sim_find_kernel(const SimModule *module, Str name, SimKernel *kernel);
/* The compute capability that .target names: 90 for sm_90 and sm_90a. */
unsigned sim_capability(const SimModule *module);
/* Whether it runs on that capability alone: sm_90a. */
bool sim_is_specific(const SimModule *module);
/* The size of a parameter in bytes. */
uint64_t sim_param_bytes(const SimModule *module, Str kernel, uint32_t index);
/* An estimate of the registers of a thread: the most that values of the PTX hold at once. */
uint32_t sim_estimate_registers(const SimModule *module, Str kernel);

/* The instructions of a module, by number from 0 on. */
typedef struct SimInsn {
    Str text;
    uint32_t ptx_line;   /* of the module's source */
    uint32_t file, line; /* that it was compiled from, of the context's sources; 0: not known */
    const char *class;   /* "tensor", "shared", .. */
    uint32_t head;       /* of a branch back: the instruction it goes to; else its own number */
} SimInsn;
uint32_t sim_insn_count(const SimModule *module);
SimInsn sim_insn(const SimModule *module, uint32_t number);
/* Registers that are alive at each instruction of the kernel and of what it calls, by number; zeros
 * for others. False when there is no such kernel. */
bool sim_live_registers(const SimModule *module, Str kernel, uint32_t *by_insn);

SimMemory *sim_memory_create(Ctx *ctx);
/* Makes `bytes` of the host readable and writable for kernels; returns their device address, a
 * multiple of 256. `defined` has a byte for each byte of data, whose set bits are those that are
 * initialised (0xff: all), and is updated by stores; NULL: all are. Neither is copied. */
uint64_t sim_map(SimMemory *memory, Str name, void *data, uint64_t bytes, uint8_t *defined,
                 bool read_only);
/* The same at an address below 2^48, such as that of the host, where nothing else is mapped. */
void sim_map_at(SimMemory *memory, uint64_t address, Str name, void *data, uint64_t bytes,
                uint8_t *defined, bool read_only);
/* Takes away what was mapped at the address; no later sim_map gives the address again. */
void sim_unmap(SimMemory *memory, uint64_t address);
/* Maps the module's .global and .const variables, with their initial values, which lie in the arena
 * of the module's context; a launch does it where it was not done. */
void sim_map_variables(SimModule *module, SimMemory *memory);
void sim_unmap_variables(const SimModule *module, SimMemory *memory);

/* What is mapped around an address. */
typedef struct SimArray {
    uint64_t address, bytes;
    uint8_t *data, *defined; /* as given to sim_map */
    bool read_only;
} SimArray;
/* False: nothing is. */
bool sim_find_array(const SimMemory *memory, uint64_t address, SimArray *array);

/* Tensor maps, as cuTensorMapEncodeTiled makes them: the same arguments with the same numbers. */
typedef enum SimTensorType {
    SIM_TENSOR_U8,
    SIM_TENSOR_U16,
    SIM_TENSOR_U32,
    SIM_TENSOR_S32,
    SIM_TENSOR_U64,
    SIM_TENSOR_S64,
    SIM_TENSOR_F16,
    SIM_TENSOR_F32,
    SIM_TENSOR_F64,
    SIM_TENSOR_BF16,
    SIM_TENSOR_F32_FTZ,
    SIM_TENSOR_TF32,
    SIM_TENSOR_TF32_FTZ,
    SIM_TENSOR_TYPES
} SimTensorType;

typedef enum SimTensorInterleave {
    SIM_INTERLEAVE_NONE,
    SIM_INTERLEAVE_16B,
    SIM_INTERLEAVE_32B
} SimTensorInterleave;

typedef enum SimTensorSwizzle {
    SIM_SWIZZLE_NONE,
    SIM_SWIZZLE_32B,
    SIM_SWIZZLE_64B,
    SIM_SWIZZLE_128B
} SimTensorSwizzle;

typedef enum SimTensorPromotion {
    SIM_PROMOTION_NONE,
    SIM_PROMOTION_64B,
    SIM_PROMOTION_128B,
    SIM_PROMOTION_256B
} SimTensorPromotion;

typedef enum SimTensorFill { SIM_FILL_ZERO, SIM_FILL_NAN } SimTensorFill;

/* What a kernel takes as a parameter, or finds in global or constant memory at a multiple of 64.
 * The encoding is the simulator's own. */
typedef struct SimTensorMap {
    _Alignas(64) uint8_t bytes[128];
} SimTensorMap;

/* A tensor of `rank` dimensions, innermost first, at a device address: `dims` elements, `strides`
 * bytes between elements of dimensions 1 and up, boxes of `box` elements. False after a report:
 * what the driver documents as not allowed. */
bool sim_tensor_map_encode(Ctx *ctx, SimTensorMap *map, SimTensorType type, uint32_t rank,
                           uint64_t address, const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *element_strides,
                           SimTensorInterleave interleave, SimTensorSwizzle swizzle,
                           SimTensorPromotion promotion, SimTensorFill fill);

typedef enum SimSchedule {
    SIM_ROUND_ROBIN, /* warps take turns of a few instructions */
    SIM_RANDOM,      /* turns and their lengths from the seed */
    SIM_ADVERSARIAL, /* the warp that is furthest goes on until it must wait */
} SimSchedule;

typedef struct SimLaunch {
    Str kernel;                 /* empty: the only one */
    uint32_t grid[3], block[3]; /* block 0: what .reqntid says */
    uint32_t cluster[3];        /* programs of a cluster; 0: what .reqnctapercluster says, or 1 */
    uint64_t dynamic_shared;    /* bytes */
    const void *const *params;  /* as many and as large as the kernel's */
    uint32_t param_count;
    SimSchedule schedule;
    uint64_t seed;
    unsigned threads; /* to run programs on; 0: the machine's cores, where it pays */
    bool early; /* asynchronous copies take effect at once, not at the wait that covers them */
    unsigned max_reports; /* findings before the launch stops; 0: 10 */
    uint64_t max_steps;   /* warp instructions before giving up; 0: no limit */
    StrBuf *output;       /* of printf; NULL: discarded */
    /* Of predictions: a clock, and the one cluster that runs by it. */
    struct Timing *timing;
    uint64_t timed_cluster;
} SimLaunch;

/* Runs a kernel. False after a report: the launch is not valid, or findings. `counts` may be NULL.
 */
bool sim_launch(SimModule *module, SimMemory *memory, const SimLaunch *launch, SimCounts **counts);

/* Clocks that a warp of a program spends at an instruction, in the mean of all warps, and those of
 * them in which it waits: for operands, copies, products or other warps. */
typedef struct SimSpent {
    double cycles, waits;
    double awaited; /* clocks that other instructions waited for its result, part of their waits */
    double held;    /* of the waits those for copies, products or other warps, not for operands */
    double queued;  /* of the cycles those in which warps had nothing to do but wait for a unit that
                       it kept busy, together with other warps' work */
    double crowded; /* of these those behind the end of all warps, as far as latency goes */
} SimSpent;

/* Clocks that instruction `insn` waits for what `maker` makes, copies, multiplies or lets go on:
 * part of its waits, likewise in the mean of all warps. */
typedef struct SimWait {
    uint32_t insn, maker;
    double clocks;
} SimWait;

/* What instructions share: issue slots, arithmetic, shared memory, the way to L2, .. */
enum { SIM_UNITS = 17 };
const char *sim_unit_name(unsigned unit);
typedef struct SimUnits {
    double clocks[SIM_UNITS]; /* of an SM */
} SimUnits;

/* What the time of a launch is the sum of, in us. */
typedef struct SimParts {
    double launch;  /* of any launch, also one that does nothing */
    double longest; /* the longest of the least times: latency, the busiest unit, L2 or DRAM */
    double beside;  /* what of the other least times does not hide behind it */
    double uneven;  /* that the longest program is there when the others have ended */
    double code;    /* that instructions are fetched for the first time */
} SimParts;

/* How long a launch takes on a device, by the clock of a few of its programs. */
typedef struct SimTime {
    double us;
    SimParts parts; /* of it */
    /* What each of these alone would take. */
    double latency_us; /* programs one after another on each SM, as many at once as it holds */
    double unit_us;    /* the busiest unit of SMs */
    double l2_us, dram_us;
    const char *unit;      /* which one that is */
    uint32_t registers;    /* of a thread */
    uint32_t ctas_per_sm;  /* that are there at once */
    double cta_clocks;     /* of a program alone by latency, the mean: `latency_us` is made of it */
    int32_t sms;           /* of the device */
    double at_once;        /* programs of the launch that an SM has at once */
    double rounds;         /* of programs one after another on an SM, as many at once as it holds */
    double footprint;      /* bytes of global memory that the launch touches, at least once */
    double moved;          /* bytes between SMs and L2 */
    double instructions;   /* of machine code, of warps */
    double text;           /* of machine code that the programs went through at least once */
    uint32_t samples;      /* programs that were run */
    const char *device;    /* whose clock it is */
    double program_clocks; /* of a program alone, or of its busiest unit if that takes longer */
    const char *crowded;   /* which unit that is, of the first program; NULL: none */
    double units_us[SIM_UNITS]; /* what each unit alone would take */
    const SimSpent *spent;      /* by number of the instruction; NULL: nobody asked */
    const SimUnits *units;      /* likewise: what all warps of a program occupy */
    const SimWait *waits;       /* likewise: for whom instructions wait, where that is known */
    uint32_t wait_count;
    const struct SimTurn *turns; /* likewise: a turn of each innermost loop of some program */
    uint32_t turn_count;
    const struct TimePlan *plan; /* what the prediction was made of */
} SimTime;

/* What an instruction of a warp takes in a turn of a loop, in clocks since the turn began. */
typedef struct SimEvent {
    uint32_t insn;
    double from, to;   /* it occupies its warp or its unit; `waits`: it holds the warp up */
    double until;      /* its result is there, or what it started has ended */
    double busy;       /* clocks of its unit */
    double replays;    /* of `from` to `to` what bank conflicts are */
    const char *queue; /* it is no instruction: all warps' work for this unit held the warp up */
    bool waits;
} SimEvent;

typedef struct SimTurn {
    uint32_t branch; /* back: number of an instruction */
    uint32_t program, warp;
    uint64_t number, of; /* the how manieth turn of that warp */
    double clocks;
    const SimEvent *events; /* in the order in which they were issued */
    uint32_t count;
} SimTurn;

/* What a launch would not have to do if it had a reason for its time less. */
typedef struct SimSaving {
    double clocks;  /* of a program alone */
    SimUnits units; /* that it occupies */
    double tensor;  /* clocks of tensor cores that do a program's work instead */
    double sectors; /* the part of 1 of what moves between SMs, L2 and DRAM */
    double again;   /* the part of 1 of what moves between SMs and L2 alone */
    double code;    /* instructions that are there no more */
} SimSaving;

/* The launch without it, all else being as it is: its time, parts and least times. */
SimTime sim_time_without(const SimTime *time, const SimSaving *saving);
/* The longest of the least times, and what it is of: "latency", the name of a unit, "L2", "DRAM".
 */
double sim_longest(const SimTime *time, const char **name);

typedef struct SimTimeOptions {
    uint32_t registers; /* of a thread, as an assembler says; 0: an estimate */
    uint32_t spilled;   /* bytes of a thread that it says are stored and loaded as spills */
    Str device;         /* empty: the first of the target's capability in machine.def */
    uint64_t budget;    /* warp instructions after which no further program is run; 0: a million */
    bool spent;         /* say what each instruction takes */
} SimTimeOptions;

/* Runs some programs of the launch, each alone, which write what they write; races in global memory
 * are not looked for. False after a report: the launch is not valid, a program does not end, or the
 * device is not known. Findings are reported and are no reason. */
bool sim_predict(SimModule *module, SimMemory *memory, const SimLaunch *launch,
                 const SimTimeOptions *options, SimTime *time);

/* The prediction as lines of text, and as a JSON object. */
void sim_print_time(const SimTime *time, StrBuf *out);
void sim_json_time(const SimTime *time, StrBuf *out);

/* What a launch counted of one instruction. */
typedef struct SimCount {
    uint64_t warps, threads; /* executions, and threads of them */
    uint64_t divergent;      /* executions by a part of the warp's threads */
    uint64_t requests, sectors, ideal_sectors, bytes_used; /* of global memory */
    uint64_t wavefronts, ideal_wavefronts;                 /* of shared memory */
    uint64_t words;       /* of shared memory that its readings gave, each once a reading */
    uint64_t first_words; /* of them those that nobody of the program had read since their write */
    uint64_t own_words;   /* of them those that the same warp had */
} SimCount;
SimCount sim_count(const SimCounts *counts, uint32_t number);

/* An access of a warp to shared memory. */
typedef struct SimSharedAccess {
    uint32_t addresses[32]; /* by lane; in the shared memory of its program */
    uint32_t mask;          /* lanes that take part */
    uint32_t size;          /* bytes of each */
    uint32_t wavefronts, ideal_wavefronts;
    uint32_t program, warp;
    bool reads;
} SimSharedAccess;
/* The one of the instruction that takes most passes for each that would do; NULL: there was none.
 */
const SimSharedAccess *sim_shared_access(const SimCounts *counts, uint32_t number);

/* Bytes between global memory and the SMs: in whole sectors, that threads asked for, each once. */
typedef struct SimTraffic {
    uint64_t moved, used, distinct;
} SimTraffic;
void sim_traffic(const SimModule *module, const SimCounts *counts, SimTraffic *read,
                 SimTraffic *written);
uint32_t sim_programs(const SimCounts *counts);

/* Registers of a thread as an assembler says; without it reports have an estimate. */
void sim_set_registers(SimCounts *counts, uint32_t registers);
/* What a launch counted: as a table by lines of the source, and as a JSON object. */
void sim_print_counts(const SimModule *module, const SimCounts *counts, StrBuf *out);
void sim_json_counts(const SimModule *module, const SimCounts *counts, StrBuf *out);
/* Thread instructions executed. */
uint64_t sim_thread_instructions(const SimCounts *counts);
#endif
