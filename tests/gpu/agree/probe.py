"""A probe: a kernel, its launch, its inputs, and how its outputs are compared."""
import numpy as np

HEADER = ".version {version}\n.target sm_90a\n.address_size 64\n"
VERSION = "9.0"


class Array:
    """An argument in memory. kind: "in", "out" (filled with a pattern before), "inout"."""

    def __init__(self, kind, data=None, size=0):
        self.kind, self.data = kind, None if data is None else np.ascontiguousarray(data)
        self.bytes = size if data is None else self.data.nbytes


class Struct:
    """An argument passed by value in more than 8 bytes."""

    def __init__(self, data):
        self.data = np.frombuffer(bytes(data), np.uint8)


class TensorMap:
    """An argument: the encoding of a tensor in the memory of the probe's `array`-th array."""

    def __init__(self, array, dtype, dims, strides, box, steps, interleave, swizzle, promotion, fill):
        self.words = [array, dtype, len(dims), interleave, swizzle, promotion, fill, *dims, *strides, *box, *steps]


class Check:
    """How one output array is compared: elements of `stored` (a NumPy type), which are numbers of `dtype`.

    rule "exact": bit for bit; else the name of a bound in bounds.py. `operands`: what to show of a difference, a
    function from the element's index to text."""

    def __init__(self, stored="<u8", dtype="u64", rule="exact", operands=None, inputs=()):
        self.stored, self.dtype, self.rule, self.operands, self.inputs = stored, dtype, rule, operands, inputs


class Probe:
    """may_end: the hardware may end the launch, and then the simulator must."""

    def __init__(self, group, form, text, args, checks, grid=1, block=32, shared=0, row=None, note="", prefix="",
                 entry=None, module=None, may_end=False):
        self.group, self.form, self.row, self.note = group, form, row, note
        # The kernel with NAME for its name, and what comes before it; its shared variables are its own.
        shared_lines = [line for line in prefix.splitlines() if line.startswith(".shared")]
        self.text = text.replace("\n{\n", "\n{\n" + "".join(f"  {line}\n" for line in shared_lines), 1)
        self.prefix = "".join(line + "\n" for line in prefix.splitlines() if not line.startswith(".shared"))
        self.args, self.checks = args, checks
        self.grid = (grid, 1, 1) if isinstance(grid, int) else grid
        self.block = (block, 1, 1) if isinstance(block, int) else block
        self.shared = shared
        self.may_end = may_end
        self.entry, self.module = entry, module  # of a whole kernel: its name, and the module's text

    def standalone(self, name):
        if self.module:
            return self.module
        return HEADER.format(version=VERSION) + self.prefix.replace("NAME", name) + self.text.replace("NAME", name)


def kernel(params, declarations, body, attributes=""):
    """A kernel's text. `params`: names of 64-bit parameters, loaded into %name."""
    lines = [f".visible .entry NAME({', '.join(f'.param .u64 NAME_{p}' for p in params)}){attributes}", "{"]
    lines += [f"  .reg .b64 %{p};" for p in params] + [f"  {d}" for d in declarations]
    for p in params:
        lines += [f"  ld.param.u64 %{p}, [NAME_{p}];", f"  cvta.to.global.u64 %{p}, %{p};"]
    return "\n".join(lines + [f"  {line}" for line in body] + ["  ret;", "}", ""])


THREAD = [".reg .b32 %block, %threads, %thread;", ".reg .b64 %byte, %at, %word;"]


def thread_number():
    """Sets %thread to the number in the grid and %byte to 8 times that."""
    return ["mov.u32 %block, %ctaid.x;", "mov.u32 %threads, %ntid.x;", "mov.u32 %thread, %tid.x;",
            "mad.lo.u32 %thread, %block, %threads, %thread;", "mul.wide.u32 %byte, %thread, 8;"]


def load_word(array):
    return [f"add.u64 %at, %{array}, %byte;", "ld.global.u64 %word, [%at];"]


def narrow(register, bits):
    """A register of `bits` from %word."""
    if bits == 1:
        return ["and.b64 %word, %word, 1;", f"setp.ne.u64 {register}, %word, 0;"]
    if bits == 64:
        return [f"mov.b64 {register}, %word;"]
    return [f"cvt.u{bits}.u64 {register}, %word;"]


def widen(register, bits):
    """%word from a register of `bits`."""
    if bits == 1:
        return [f"selp.u64 %word, 1, 0, {register};"]
    if bits == 64:
        return [f"mov.b64 %word, {register};"]
    return [f"cvt.u64.u{bits} %word, {register};"]


def store_word(slot, count):
    """To the array of results: `slot`-th of several for each of `count` threads."""
    return ["add.u64 %at, %out, %byte;", f"st.global.u64 [%at+{8 * count * slot}], %word;"]


def declare(register, bits):
    return f".reg .pred {register};" if bits == 1 else f".reg .b{bits} {register};"
