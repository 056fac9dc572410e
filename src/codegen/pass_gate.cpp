/* Which optional passes of LLVM's back end run.
 *
 * LLVMTargetMachineEmitToMemoryBuffer makes the whole list of passes itself, and the C API has no
 * way to leave any out; a gate of the context has, and is asked before every optional pass. It has
 * no state, so contexts of many threads share the one. */
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/OptBisect.h>

#include "codegen/pass_gate.h"

namespace {

/* Passes that work on straight code. Straight-line strength reduction compares addresses pair by
 * pair, which took half of a compilation, and they are a base and a constant already: what splits
 * them, and what cleans up behind, has run in machine.c, once. LLVM 20 gives a pass's name, later
 * ones its argument. */
bool is_of_no_use(llvm::StringRef pass) {
    for (const char *known :
         {"slsr", "Straight line strength reduction", "nary-reassociate", "Nary reassociation",
          "early-cse", "Early CSE", "separate-const-offset-from-gep",
          "Split GEPs to a variadic base and a constant offset for better CSE"})
        if (pass == known)
            return true;
    return false;
}

class Gate final : public llvm::OptPassGate {
  public:
    explicit Gate(bool reduces) : reduce_loops(reduces) {}
    /* The first form is LLVM 20's, the second that of later ones: one of them overrides. */
    bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) {
        return runs(pass);
    }
    bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const {
        return runs(pass);
    }
    bool isEnabled() const {
        return true;
    }

  private:
    const bool reduce_loops;
    bool runs(llvm::StringRef pass) const {
        return !is_of_no_use(pass) && (reduce_loops || pass != "Loop Strength Reduction");
    }
};

} // namespace

/* The gates are never destroyed: threads may compile until the end of the process. */
void pass_gate_install(LLVMContextRef context, bool reduce_loops) {
    static Gate *const with_reduction = new Gate(true), *const without = new Gate(false);
    llvm::unwrap(context)->setOptPassGate(reduce_loops ? *with_reduction : *without);
}
