#!/usr/bin/env python3
"""Code for other targets beside Triton's, without a GPU of them: times that the simulator's clock predicts, registers and spills of ptxas.

    $TRITON_PYTHON bench/targets.py --tilec TILEC --launch BENCH_CLOCK_LAUNCH --keep FOLDER [--targets 80,89,120] [--kernels FOLDER]
                                    [--sample N] [--only TEXT] [--seconds S] [--given] [--outputs] [-j N] [--worst N]

Both compile each kernel for the same target, Triton and "given" with the warps and stages of the index, "own" as tilec chooses. One ptxas says
registers of both, and the clock of src/sim predicts a launch of both on the first device that src/target/machine.def has for the target, with the
same arguments: those of public_worker.py for public kernels, and for kernels/ the sizes below. Kernels of which one side takes longer than S seconds
of processor time to simulate are left out, and counted; so are those whose code by Triton takes more shared memory than the target has. --outputs
also runs public kernels that have arguments, both sides' PTX, on the simulator with all checks, and compares what they write. FOLDER keeps what was
compiled and predicted; --again predicts anew, with what was compiled."""
import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../tests/e2e/public", "../tests/e2e/kernels", "."):
    sys.path.insert(0, os.path.join(HERE, folder))
import clock  # noqa: E402
import corpus  # noqa: E402
import difference  # noqa: E402
import on_gpu  # noqa: E402
import registers  # noqa: E402

SIDES = ("triton", "given", "own")
ROWS = 8192  # of row kernels
M, N, K = 4224, 4096, 512
QUERIES, HEADS, BATCHES = 2048, 16, 4


def row(name, kernel, types, block=1024, warps=0):
    return registers.Row(f"{kernel}, {name}", f"kernels/{name}.tile", kernel, types, dict(BLOCK=block), warps, 3)


def rows_of(dtype):
    """Row kernels of one type of elements."""
    x, wide = f"*{dtype}:16", "*fp32:16"
    strides = dict(x_stride="i32:16", y_stride="i32:16", cols="i32:16")
    yield row("softmax", "softmax", dict(x_ptr=x, y_ptr=x, **strides))
    yield row("softmax_wide", "softmax_online", dict(x_ptr=x, y_ptr=x, **strides))
    yield row("layernorm", "layernorm", dict(x_ptr=x, y_ptr=x, w_ptr=x, b_ptr=x, mean_ptr=wide, rstd_ptr=wide, stride="i32:16", cols="i32:16", eps="fp32"))
    yield row("rmsnorm", "rmsnorm", dict(x_ptr=x, y_ptr=x, w_ptr=x, stride="i32:16", cols="i32:16", eps="fp32"))
    yield row("silu_mul", "silu_mul", dict(x_ptr=x, y_ptr=x, **strides))
    yield row("reduce_sum", "reduce_sum_rows", dict(x_ptr=x, y_ptr=wide, stride="i32:16", cols="i32:16"))
    yield row("vector_add", "vector_add", dict(a_ptr=x, b_ptr=x, c_ptr=x, n="i32:16"))


class OfProject:
    """A kernel of this repository, with what corpus.Kernel knows of a public one."""

    def __init__(self, told, kind):
        self.id = f"tilec:{told.name}, {kind or str(told.warps) + ' warps'}"
        self.path, self.kernel = os.path.join(HERE, "..", told.file), told.kernel
        self.constexprs = {n: v for n, v in told.constants.items()}
        self.signature = {n: t.split(":")[0] if t != "1" else "i32" for n, t in told.types.items()}
        self.divisible = {n for n, t in told.types.items() if t.endswith(":16")}
        self.ones = {n for n, t in told.types.items() if t == "1"}
        self.num_warps, self.num_stages = told.warps, told.stages
        self.args = {}

    def types(self):
        out = []
        for n, t in self.signature.items():
            out += ["-a", f"{n}={t}{':1' if n in self.ones else ':16' if n in self.divisible else ''}"]
        for n, v in self.constexprs.items():
            out += ["-D", f"{n}={v!r}"]
        return out

    def number(self, name):
        dim = self.constexprs.get("HEAD_DIM", 0)
        sizes = dict(M=M, N=N, K=K, stride_am=K, stride_ak=M, stride_bk=N, stride_bn=K, stride_cm=N, queries=QUERIES, keys=QUERIES, n=ROWS * 1024)
        if name.startswith("stride_") and dim:
            value = dict(b=HEADS * QUERIES * dim, h=QUERIES * dim).get(name[-1], dim)
        else:
            value = sizes.get(name, self.constexprs.get("BLOCK", 0))
        return 1 if name in self.ones else value if name in self.divisible else value - 3

    def launch_grid(self):
        c = self.constexprs
        if "HEAD_DIM" in c:
            return math.ceil(QUERIES / c["BLOCK_M"]), HEADS, BATCHES
        return (math.ceil(M / c["BLOCK_M"]), math.ceil(N / c["BLOCK_N"]), 1) if "BLOCK_M" in c else (ROWS, 1, 1)


def grid_of(kernel):
    return kernel.launch_grid() if isinstance(kernel, OfProject) else clock.GRIDS[kernel.rank]


def argument(kernel, name, kind):
    number = kernel.number(name) if isinstance(kernel, OfProject) and kind.startswith("i") else None
    return clock.argument(kernel, name, kind, number)


def function_of(kernel):
    import triton_side
    function = getattr(triton_side.load(kernel.path), kernel.kernel)
    while not hasattr(function, "arg_names"):
        function = function.fn
    return function


def by_triton(kernel, base, target, warps, constexprs):
    """Compiles to base.ptx and says what its launch needs to know; in a process of its own, as a compiler can end with it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    function, types, constants, attributes = function_of(kernel), {}, {}, {}
    for index, name in enumerate(function.arg_names):
        kind = kernel.signature.get(name, "constexpr")
        if kind == "constexpr" or name in kernel.ones:
            types[name] = "constexpr"
            default = function.params[index].default
            constants[(index,)] = on_gpu.triton_value(constexprs[name]) if name in constexprs else 1 if name in kernel.ones else default
        else:
            types[name] = kind
            if name in kernel.divisible:
                attributes[(index,)] = [["tt.divisibility", 16]]
    def without_cubin(_, stages, *__):
        stages["cubin"] = lambda source, metadata: b""
    triton.knobs.runtime.add_stages_inspection_hook = without_cubin
    source = ASTSource(fn=function, signature=types, constexprs=constants, attrs=attributes)
    made = triton.compile(source, target=GPUTarget("cuda", target, 32), options={"num_warps": warps, "num_stages": kernel.num_stages})
    with open(base + ".ptx", "w") as file:
        file.write(made.asm["ptx"])
    return dict(name=made.metadata.name, shared=made.metadata.shared, threads=32 * made.metadata.num_warps,
                scratch=made.metadata.global_scratch_size, passed=[n for n in function.arg_names if types[n] != "constexpr"])


def assembled(options, path, target):
    """Registers of a thread, and bytes spilled, that ptxas says of PTX."""
    said = subprocess.run([options.ptxas, f"-arch={target}", "-v", path, "-o", os.devnull], capture_output=True, text=True, check=True).stderr
    return dict(registers=int(re.search(r"Used (\d+) registers", said)[1]), spilled=sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", said))))


def peer(options, kernel, base, target, warps, constexprs=None):
    """What by_triton says, and ptxas; from the folder or made now; None where it cannot be."""
    try:
        with open(base + ".json") as file:
            return json.load(file)
    except FileNotFoundError:
        pass
    child = os.fork()
    if not child:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            said = by_triton(kernel, base, target, warps, constexprs or kernel.constexprs)
            with open(base + ".json.new", "w") as file:
                json.dump(said, file)
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        return None
    with open(base + ".json.new") as file:
        facts = json.load(file)
    os.remove(base + ".json.new")
    facts.update(assembled(options, base + ".ptx", name_of(target)))
    with open(base + ".json", "w") as file:
        json.dump(facts, file)
    return facts


def name_of(target):
    return f"sm_{target}{'a' if target >= 90 else ''}"


def fits(facts, target):
    """Whether the target has as much shared memory for a block."""
    with open(os.path.join(HERE, "../src/target/targets.def")) as file:
        block = re.search(rf'TARGET\("{name_of(target)}", *\d+, *\d+, *"[^"]*", *(\d+)', file.read())
    return facts["shared"] <= int(block[1])


def words_of_peer(kernel, facts):
    """Parameters that are constants are none; two pointers to scratch memory follow."""
    return [argument(kernel, n, kernel.signature[n]) for n in facts["passed"]] + ["i8:0", "i8:0"]


def predict_peer(options, kernel, base, target, warps):
    facts = peer(options, kernel, base, target, warps)
    if not facts:
        return {"error": "not compiled"}
    if facts["scratch"]:
        return {"error": "scratch memory"}
    if not fits(facts, target):
        return {"error": "more shared memory than a block has"}
    said = clock.launch(options, base + ".ptx", facts["name"], facts, facts["shared"], grid_of(kernel), facts["threads"], words_of_peer(kernel, facts))
    return {**said, "threads": facts["threads"], "spilled": facts["spilled"]}


def base_of(options, kernel, target, side):
    return os.path.join(options.keep, f"{re.sub(r'[^a-zA-Z0-9]+', '_', kernel.id)}.{target}.{side}")


def same_code(options, kernel, target):
    """Whether own warps and stages make the code of the given ones."""
    texts = [clock.run(clock.command_of(options, kernel, "ptx", "-", name_of(target), own), 300) for own in (False, True)]
    return texts[0] and texts[0] == texts[1]


def predict(options, kernel, target):
    """{"triton": prediction, "given": .., "own": ..}; stops at the first of Triton and "given" that has none."""
    found, warps = {}, kernel.num_warps
    for side in ("given", "triton") + ("own",) * (not options.given) if warps else ("own", "triton"):
        base = base_of(options, kernel, target, side)
        if side == "triton":
            found[side] = predict_peer(options, kernel, base, target, warps or found["own"]["threads"] // 32)
        elif side == "own" and warps and same_code(options, kernel, target):
            found[side] = found["given"]
        else:
            found[side] = clock.predict(options, kernel, base, name_of(target), side == "own", grid_of(kernel), argument)
        if "us" not in found[side]:
            break
    return found


def outputs(options, kernel, target):
    """What both sides write, compared: "agree", "differ", or why that cannot be said."""
    with tempfile.TemporaryDirectory(prefix="tilec-targets-") as folder:
        start = kernel.arrays()
        files = {n: os.path.join(folder, n + ".npy") for n in start}
        for n, (_, values) in start.items():
            corpus.np.save(files[n], values)
        base = base_of(options, kernel, target, "outputs")
        facts = peer(options, kernel, base, target, kernel.num_warps, kernel.launch_constexprs)
        if not facts or facts["scratch"] or not fits(facts, target):
            return "Triton does not compile it"
        data = kernel.data(files)
        passed = {data[i + 1].split("=", 1)[0]: data[i + 1] for i in range(0, len(data), 2) if data[i] == "-a"}
        theirs = [w for n in facts["passed"] for w in ("-a", passed[n])] + ["-a", "scratch_=0:i64", "-a", "profile_=0:i64"]
        grid = repr(tuple(kernel.grid))
        sides = {"triton": [options.tilec, "sim", base + ".ptx", "-k", facts["name"], "-g", grid, "-b", str(facts["threads"]), "--shared",
                            str(facts["shared"]), *theirs],
                 "tilec": [options.tilec, "run", *kernel.options(), "--device", "sim", "-t", name_of(target), "--grid", grid, *data]}
        written, faults = {}, []
        for side, command in sides.items():
            outs = {n: os.path.join(folder, f"{side}-{n}.npy") for n in start}
            for n, path in outs.items():
                command += ["--out", f"{n}={path}"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds)
            except subprocess.TimeoutExpired:
                return "too long"
            if done.returncode:
                faults.append(f"{side}: " + " ".join(re.findall("error: .*", done.stderr + done.stdout))[:300])
            else:
                written[side] = {n: corpus.np.load(path) for n, path in outs.items()}
        if faults:  # of both: the arguments'
            return "both: " * (len(faults) > 1) + "; ".join(faults)
    apart, name = difference.worst(written["triton"], written["tilec"], start, kernel.arithmetic())
    return "agree" if apart <= 1 else f"differ: {name} by {apart:.1f} tolerances"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", default="tilec")
    parser.add_argument("--launch", required=True, help="the program bench_clock_launch")
    parser.add_argument("--keep", required=True, metavar="FOLDER")
    parser.add_argument("--targets", default="80,89,120")
    parser.add_argument("--kernels", metavar="FOLDER")
    parser.add_argument("--ptxas", default=shutil.which("ptxas"))
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N public kernels, chosen at random but always the same; default: all")
    parser.add_argument("--only", default="", help="kernels whose id contains the text")
    parser.add_argument("--seconds", type=float, default=10, help="of processor time that a simulation may take")
    parser.add_argument("--given", action="store_true", help="no warps and stages of tilec's own choice where there are given ones")
    parser.add_argument("--outputs", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--worst", type=int, default=30, metavar="N")
    return parser.parse_args()


def kernels_of(options):
    folder = corpus.folder_of_kernels(options.kernels)
    public = [k for k in corpus.read(folder)] if folder else []
    public = [k for k in public if all(isinstance(t, str) and "tensordesc" not in t for t in k.signature.values())]
    random.Random(1).shuffle(public)
    own = [OfProject(told, "") for told in registers.ROWS] + [OfProject(told, dtype) for dtype in ("fp32", "bf16") for told in rows_of(dtype)]
    return [k for k in public[:options.sample or None] + own if options.only in k.id]


def each(options, path, kernels, target, do):
    """id -> what do(options, kernel, target) says, kept in a file as it comes."""
    found = {} if options.again else {r["id"]: r["said"] for r in clock.read_lines(path)}
    with open(path, "w" if options.again else "a") as out, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        missing = [k for k in kernels if k.id not in found]
        for kernel, said in zip(missing, pool.map(lambda k: do(options, k, target), missing)):
            found[kernel.id] = said
            print(json.dumps({"id": kernel.id, "said": said}), file=out, flush=True)
    return {k.id: found[k.id] for k in kernels}


def counted(words):
    return ", ".join(f"{words.count(w)} {w}" for w in sorted(set(words)))


def told(p):
    spilled = f", {p['spilled']} B spilled" if p["spilled"] else ""
    return f"{p['us']:9.2f} us ({p['registers']} registers{spilled}, {p['ctas_per_sm']} x {p['threads'] // 32} warps, latency {p['latency_us']:.1f}, " \
        f"{p['unit']} {p['unit_us']:.1f}, L2 {p['l2_us']:.1f}, DRAM {p['dram_us']:.1f})"


def report(options, target, found):
    """Prints ratios, Triton's time over ours, for each of our sides."""
    print(f"\n{name_of(target)}: {len(found)} kernels")
    for side in SIDES[1:]:
        pairs = sorted((s["triton"]["us"] / s[side]["us"], k) for k, s in found.items() if all("us" in s.get(x, {}) for x in ("triton", side)))
        if not pairs:
            continue
        ratios = [r for r, _ in pairs]
        spills = [sum(found[k][x]["spilled"] > 0 for _, k in pairs) for x in ("triton", side)]
        fewer = statistics.geometric_mean(found[k]["triton"]["registers"] / found[k][side]["registers"] for _, k in pairs)
        print(f"triton / {side}: {len(pairs)} kernels, geometric mean {statistics.geometric_mean(ratios):.3f}, median {statistics.median(ratios):.3f}, "
              f"with ratios beyond 2 taken for 2 {statistics.geometric_mean(min(2, max(.5, r)) for r in ratios):.3f}, "
              f"under 0.95: {sum(r < .95 for r in ratios)}; registers {fewer:.3f}; with spills {spills[1]}, Triton {spills[0]}")
        for ratio, kernel in pairs[:options.worst]:
            print(f"  {ratio:.3f} {kernel}\n      triton {told(found[kernel]['triton'])}\n      {side:6} {told(found[kernel][side])}")
    without = [f"{x}: {p['error'][:60]}" for s in found.values() for x, p in s.items() if "us" not in p]
    print("without a prediction: " + counted(without))


def main():
    options = arguments()
    os.makedirs(options.keep, exist_ok=True)
    kernels = kernels_of(options)
    for target in map(int, options.targets.split(",")):
        report(options, target, each(options, os.path.join(options.keep, f"{target}.jsonl"), kernels, target, predict))
        if options.outputs:
            path = os.path.join(options.keep, f"{target}.outputs.jsonl")
            said = each(options, path, [k for k in kernels if getattr(k, "grid", None)], target, outputs)
            print("outputs: " + counted([s if s in ("agree", "too long") else s.split(":")[0] for s in said.values()]))
            for kernel, words in said.items():
                if words not in ("agree", "too long"):
                    print(f"  {kernel}: {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
