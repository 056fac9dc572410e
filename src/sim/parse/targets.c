/* Which instructions need which target: what ptxas would refuse is refused here. */
#include "sim/parse/parser.h"

/* An instruction of this name with this modifier, and this type as one of the first two, if given.
 */
typedef struct Need {
    const char *name;
    Word word;
    int type;
    unsigned sm;
    bool specific; /* sm_90a or sm_100f, not sm_90 */
    bool only;     /* and none that is newer */
} Need;

enum { ANY_TYPE = -1 };

static const Need needs[] = {
    {"atom", WORD_none, TYPE_b128, 90, false, false},
    {"atom", WORD_v2, ANY_TYPE, 90, false, false},
    {"atom", WORD_v4, ANY_TYPE, 90, false, false},
    {"atom", WORD_v8, ANY_TYPE, 90, false, false},
    {"barrier", WORD_cluster, ANY_TYPE, 90, false, false},
    {"cp", WORD_async, ANY_TYPE, 80, false, false},
    {"cvt", WORD_none, TYPE_bf16x2, 80, false, false},
    {"cvt", WORD_none, TYPE_e4m3x2, 89, false, false},
    {"cvt", WORD_none, TYPE_e5m2x2, 89, false, false},
    {"cvt", WORD_none, TYPE_tf32, 80, false, false},
    {"cvt", WORD_rn, TYPE_tf32, 90, false, false},
    {"cvt", WORD_rz, TYPE_tf32, 90, false, false},
    {"elect", WORD_none, ANY_TYPE, 90, false, false},
    {"getctarank", WORD_none, ANY_TYPE, 90, false, false},
    {"griddepcontrol", WORD_none, ANY_TYPE, 90, false, false},
    {"ldmatrix", WORD_none, ANY_TYPE, 75, false, false},
    {"ld", WORD_v4, ANY_TYPE, 100, false, false},
    {"ld", WORD_v8, ANY_TYPE, 100, false, false},
    {"mapa", WORD_none, ANY_TYPE, 90, false, false},
    {"match", WORD_none, ANY_TYPE, 70, false, false},
    {"mbarrier", WORD_none, ANY_TYPE, 80, false, false},
    {"mma", WORD_m16n8k16, ANY_TYPE, 80, false, false},
    {"mma", WORD_m16n8k32, ANY_TYPE, 80, false, false},
    {"mma", WORD_m16n8k4, TYPE_f64, 90, false, false},
    {"mma", WORD_m16n8k8, TYPE_f64, 90, false, false},
    {"mma", WORD_m16n8k16, TYPE_f64, 90, false, false},
    {"mma", WORD_none, TYPE_bf16, 80, false, false},
    {"mma", WORD_none, TYPE_e4m3, 89, false, false},
    {"mma", WORD_none, TYPE_e5m2, 89, false, false},
    {"mma", WORD_none, TYPE_f64, 80, false, false},
    {"mma", WORD_none, TYPE_tf32, 80, false, false},
    {"mma", WORD_none, ANY_TYPE, 75, false, false},
    {"movmatrix", WORD_none, ANY_TYPE, 75, false, false},
    {"nanosleep", WORD_none, ANY_TYPE, 70, false, false},
    {"red", WORD_async, ANY_TYPE, 90, false, false},
    {"red", WORD_v2, ANY_TYPE, 90, false, false},
    {"red", WORD_v4, ANY_TYPE, 90, false, false},
    {"red", WORD_v8, ANY_TYPE, 90, false, false},
    {"redux", WORD_none, TYPE_f32, 100, true, false},
    {"redux", WORD_none, ANY_TYPE, 80, false, false},
    {"setmaxnreg", WORD_none, ANY_TYPE, 90, true, false},
    {"st", WORD_async, ANY_TYPE, 90, false, false},
    {"st", WORD_v4, ANY_TYPE, 100, false, false},
    {"st", WORD_v8, ANY_TYPE, 100, false, false},
    {"stmatrix", WORD_none, ANY_TYPE, 90, false, false},
    {"wgmma", WORD_none, ANY_TYPE, 90, true, true},
};

/* Vectors of loads and stores are new only where they are more than 128 bits. */
static bool is_wide(Word vector, const Insn *insn) {
    unsigned elements = vector == WORD_v8 ? 8 : 4;
    return elements * type_info[insn->type[0]].bits > 128;
}

static bool concerns(const Need *need, const Insn *insn) {
    return !strcmp(need->name, insn->row->name) &&
           (need->word == WORD_none || insn_has(insn, need->word)) &&
           (need->type == ANY_TYPE || need->type == insn->type[0] || need->type == insn->type[1]) &&
           (need->sm != 100 || (need->word != WORD_v4 && need->word != WORD_v8) ||
            is_wide(need->word, insn));
}

bool ptx_check_target(Parser *parser, const Insn *insn) {
    const SimModule *module = parser->module;
    for (size_t i = 0; i < sizeof needs / sizeof *needs && module->sm; i++) {
        const Need *need = &needs[i];
        if (!concerns(need, insn))
            continue;
        bool fits = need->only ? module->sm == need->sm : module->sm >= need->sm;
        if (!fits || (need->specific && !module->sm_suffix))
            return ptx_error(parser, insn->lo, insn->hi, ptx_needs_target, need->name, need->sm,
                             need->specific ? "a" : "", need->only ? "" : " or newer", module->sm,
                             module->sm_suffix == 'a'   ? "a"
                             : module->sm_suffix == 'f' ? "f"
                                                        : "");
    }
    return true;
}
