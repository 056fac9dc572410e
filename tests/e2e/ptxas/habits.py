#!/usr/bin/env python3
"""Does the ptxas that is there behave as generated code relies on, beyond what manuals state? docs/ptxas.md lists what and why.

    habits.py --tilec TILEC --ptxas PTXAS [--filter TEXT]

Each habit is two modules, one as it is generated and one without what is done for ptxas, and a count of their SASS or of what ptxas says. It
holds where the first has the wanted count, and is of use where the second has not. Exit status: 0 all hold and are of use, 1 some do not."""
import argparse
import collections
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
# The low nine bits of an instruction: the operation, whatever its operands are.
MUFU, SHFL, LDG, VOTEU, HGMMA, UTMASTG = 0x108, 0x189, 0x181, 0x086, 0x1F0, 0x1B5

Assembled = collections.namedtuple("Assembled", "ops said")
Habit = collections.namedtuple("Habit", "name relied without count wanted")


def text_section(cubin):
    """The instructions of the only kernel of an ELF file."""
    first, = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", cubin, first + 64 * i) for i in range(count)]
    for name, _, _, _, offset, size in headers:
        if cubin.startswith(b".text.", headers[names][4] + name):
            return cubin[offset:offset + size]
    raise ValueError("a cubin without code")


def assemble(ptxas, text):
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        run = subprocess.run([ptxas, "-v", "-arch=sm_90a", source, "-o", cubin], capture_output=True, text=True, timeout=120)
        if run.returncode:
            raise ValueError(run.stderr)
        with open(cubin, "rb") as file:
            code = text_section(file.read())
    return Assembled([struct.unpack_from("<Q", code, i)[0] & 0x1FF for i in range(0, len(code), 16)], run.stderr)


def module(registers, body, more=""):
    return (".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 buffer[];\n"
            ".visible .entry k(.param .u64 at, .param .align 64 .b8 map[128])\n"
            f".reqntid 128, 1, 1 {more}\n{{\n.reg .b64 %p; ld.param.u64 %p, [at];\n{registers}\n{body}\nret;\n}}\n")


def compiled(tilec, kernel, signature, *options):
    """PTX of a kernel of kernels/."""
    command = [tilec, "compile", os.path.join(ROOT, "kernels", kernel + ".tile"), "-k", kernel, "-t", "sm_90a", "--cache-dir", "none", "-s", signature]
    return subprocess.run(command + list(options), capture_output=True, text=True, check=True, timeout=120).stdout


def layernorm(tilec):
    return compiled(tilec, "layernorm", ", ".join(["*fp32:16"] * 6 + ["i32:16"] * 2 + ["fp32", "1024"]), "--num-warps", "4")


def linear_gelu(tilec):
    """Persistent, its tiles stored in halves: the arrival that gives back the last block stands in front of what is computed."""
    return compiled(tilec, "linear_gelu", ", ".join(["*fp16:16"] * 4 + ["i32:16"] * 6 + ["128", "128", "64", "8", "False"]),
                    "--num-warps", "4", "--num-stages", "4")


def without_order(text):
    if "pmevent 0;" not in text:
        raise ValueError("no pmevent in the kernel that is to have it")
    return text.replace("pmevent 0;", "")


def opaque(zero):
    """ex2 of x twice, the second time of x + zero."""
    return module(".reg .f32 %x, %y, %a, %b; .reg .b32 %m, %z, %i;", f"""
        ld.global.f32 %x, [%p];
        {zero}
        ex2.approx.ftz.f32 %a, %x;
        mov.b32 %i, %x; add.u32 %i, %i, %z; mov.b32 %y, %i;
        ex2.approx.ftz.f32 %b, %y;
        st.global.f32 [%p+4], %a; st.global.f32 [%p+8], %b;""")


def barriers(meet):
    """Halves of a CTA, each at a barrier of its own."""
    return module(".reg .b32 %s; .reg .pred %is<2>;", f"mov.u32 %s, %tid.x; shr.u32 %s, %s, 6;\n{meet}")


def product(copies):
    """A loop with a product by wgmma in flight."""
    return module(".reg .b64 %d; .reg .f32 %a<4>, %b<2>; .reg .b32 %n; .reg .pred %more;", f"""
        mov.u32 %n, %nctaid.x; mov.b64 %d, 0x4000004000010000;
        mov.f32 %a0, 0f00000000; mov.f32 %a1, %a0; mov.f32 %a2, %a0; mov.f32 %a3, %a0;
        LOOP: wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%a0, %a1, %a2, %a3}}, %d, %d, 1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 1;
        {copies}
        sub.u32 %n, %n, 1; setp.ne.u32 %more, %n, 0;
        @%more bra LOOP;
        wgmma.wait_group.sync.aligned 0;
        st.global.v4.f32 [%p], {{%a0, %a1, %a2, %a3}};""")


def tensor_copy(choice):
    """A loop with a wait and a tensor copy by one thread."""
    return module(".reg .b64 %m; .reg .b32 %s, %b, %c, %n, %lane; .reg .pred %one, %done, %more;", f"""
        mov.u32 %s, buffer; add.u32 %b, %s, 8192; mov.u64 %m, map; cvta.param.u64 %m, %m; mov.u32 %n, %nctaid.x; mov.u32 %c, 0;
        LOOP:
        WAIT: mbarrier.try_wait.parity.shared::cta.b64 %done, [%b], 0;
        @!%done bra WAIT;
        {choice}
        @%one cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%m, {{%c, %c}}], [%b];
        add.u32 %c, %c, 64; sub.u32 %n, %n, 1; setp.ne.u32 %more, %n, 0;
        @%more bra LOOP;""")


def many_values(limit):
    """More values at once than a thread of so few registers holds."""
    loads = "\n".join(f"ld.volatile.global.f32 %v{i}, [%p+{4 * i}];" for i in range(64))
    stores = "\n".join(f"st.volatile.global.f32 [%p+{4 * i}], %v{63 - i};" for i in range(64))
    return module(".reg .f32 %v<64>;", f"{loads}\n{stores}", f".maxnreg {limit}")


def loads_behind_shuffle(assembled):
    return assembled.ops[assembled.ops.index(SHFL):].count(LDG)


def functions_between_stores(assembled):
    """Exponentials behind the start of the first half's store and in front of the second's."""
    first = assembled.ops.index(UTMASTG)
    last = len(assembled.ops) - assembled.ops[::-1].index(UTMASTG)
    return assembled.ops[first:last].count(MUFU) > 0


def said(pattern):
    return lambda assembled: int(re.search(pattern, assembled.said)[1])


def habits(tilec):
    rows, tiles = layernorm(tilec), linear_gelu(tilec)
    return [
        Habit("loads stay in front of pmevent", rows, without_order(rows), loads_behind_shuffle, 0),
        Habit("arithmetic stays behind pmevent", tiles, without_order(tiles), functions_between_stores, True),
        Habit("masks of lanes are not combined",
              opaque("mov.u32 %m, %lanemask_lt; mov.u32 %z, %lanemask_eq; and.b32 %z, %z, %m;"), opaque("mov.u32 %z, 0;"),
              lambda assembled: assembled.ops.count(MUFU), 2),
        Habit("barriers by predicates are counted",
              barriers("setp.eq.u32 %is0, %s, 0; setp.eq.u32 %is1, %s, 1; @%is0 bar.sync 1, 64; @%is1 bar.sync 2, 64;"),
              barriers("add.u32 %s, %s, 1; bar.sync %s, 64;"), said(r"used (\d+) barriers"), 3),
        Habit("products in flight are not waited for", product(""), product("mov.f32 %b0, %a0; mov.f32 %a0, %a1; mov.f32 %a1, %b0;"),
              lambda assembled: "C7514" in assembled.said, False),
        Habit("elect.sync chooses one thread", tensor_copy("elect.sync _|%one, -1;"),
              tensor_copy("mov.u32 %lane, %laneid; setp.eq.u32 %one, %lane, 0;"), lambda assembled: assembled.ops.count(VOTEU), 0),
        Habit("a limit below 24 registers is 24", many_values(16), many_values(32), said(r"Used (\d+) registers"), 24),
    ]


def versions():
    """Of the table in docs/ptxas.md: habit -> versions of ptxas in which it was seen."""
    with open(os.path.join(ROOT, "docs", "ptxas.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| ([^|]+) \|.*\| ([\d., ]+) \|$", file.read(), re.M)
    return {name: seen.split(", ") for name, seen in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    version = re.search(r"release ([\d.]+)", subprocess.run([options.ptxas, "--version"], capture_output=True, text=True, check=True).stdout)[1]
    seen, wrong = versions(), 0
    all_habits = habits(options.tilec)
    for name in seen.keys() ^ {habit.name for habit in all_habits}:
        print(f"{name}: not both here and in docs/ptxas.md")
        wrong += 1
    for habit in all_habits:
        if options.filter not in habit.name:
            continue
        relied, without = (habit.count(assemble(options.ptxas, text)) for text in (habit.relied, habit.without))
        fault = ("does not hold" if relied != habit.wanted else "holds without what is done for it" if without == habit.wanted else None)
        new = "" if version in seen.get(habit.name, ()) else ", a version that docs/ptxas.md does not list"
        print(f"{'FAIL' if fault else 'ok'}  {habit.name}: {relied}, without {without}; {fault or 'holds'} in ptxas {version}{new}")
        wrong += fault is not None
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
