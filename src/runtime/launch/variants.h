/* Which of a kernel's variants a call is launched by: one that runs on the device, was compiled for
 * the call's types and constexprs, and promises nothing that the arguments do not keep. Of several
 * the device's own code, then that which promises most, then the first. */
#ifndef TILEC_RUNTIME_LAUNCH_VARIANTS_H
#define TILEC_RUNTIME_LAUNCH_VARIANTS_H
#include "runtime/launch/arguments.h"
#include "runtime/launch/bundle.h"

/* A constexpr's value in words of Python. */
typedef struct NamedLiteral {
    Str name, literal;
} NamedLiteral;

typedef struct VariantCall {
    const Device *device;
    const ArgumentLeaf *arguments; /* for the source's parameters, in order, without the next */
    uint32_t count;
    const NamedLiteral *constexprs; /* which hold for every call */
    size_t constexpr_count;
    unsigned forms; /* KernelForm: those that the arguments need */
} VariantCall;

/* The code that the device would load; empty: it runs none of the variant's. */
Str variant_code(const Variant *variant, const Device *device);

/* NULL: there is none. */
const Variant *variants_choose(const Variant *const *variants, uint32_t count,
                               const VariantCall *call);
/* Why variants_choose gave NULL: "for sm_90a, wanted for sm_80", or "'n' is i32:8 (1000), wanted
 * i32:16, i32:=1024", of the argument that the nearest variants were not made for. */
const char *variants_explain(Arena *arena, const Variant *const *variants, uint32_t count,
                             const VariantCall *call);

/* Appends to a list in words what is not in it yet: "i32:16, i32:=1024". */
void wanted_add(StrBuf *list, const char *text);

/* Whether two literals stand for the same value: 16 and 0x10 do, 1e-5 and 1e-05, "a" and 'a', but
 * not 1 and 1.0. */
bool literal_same(Str a, Str b);
#endif
