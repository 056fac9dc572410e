/* Which optional passes of LLVM's back end run.
 *
 * LLVMTargetMachineEmitToMemoryBuffer makes the whole list of passes itself, and the C API has no
 * way to leave any out; a gate of the context has, and is asked before every optional pass. It has
 * no state, so contexts of many threads share the one. */
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/OptBisect.h>

#include "codegen/pass_gate.h"

namespace {

/* Straight-line strength reduction compares accesses pair by pair, which took half of a
 * compilation, and reduces nothing where offsets are constants already. LLVM 20 gives the name,
 * later ones the argument. */
bool is_needed(llvm::StringRef pass) {
    return pass != "slsr" && pass != "Straight line strength reduction";
}

/* The first form is LLVM 20's, the second that of later ones: whichever overrides is called. */
class Gate final : public llvm::OptPassGate {
  public:
    bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) {
        return is_needed(pass);
    }
    bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const {
        return is_needed(pass);
    }
    bool isEnabled() const {
        return true;
    }
};

} // namespace

void pass_gate_install(LLVMContextRef context) {
    static Gate *const gate = new Gate; /* never destroyed: threads may compile until the end */
    llvm::unwrap(context)->setOptPassGate(*gate);
}
