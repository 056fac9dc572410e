"""What a process that uses Triton's API takes to begin: the import beside torch, and first calls of kernels, by tilec and by Triton.

    python start.py [--rounds N] [--variants tilec,triton]        needs torch and a GPU

Prints JSON, milliseconds, medians of N processes, in which torch has used the GPU before. `import`: `import triton`. `launch`: the first
call of all in a process, of a kernel that on-disk caches have, until its result is there. Then, by kernel, the first call of each:
`cold`, caches have others alone; `warm`, they have it; `again`, the second call in the process. Results are compared with float64 or
float32."""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

VARIANTS = {"tilec": "tilec.triton", "triton": "triton"}
KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kernels")


def load(name, module):
    """kernels/NAME.tile as a module whose triton is `module`."""
    if module != "triton":
        import tilec
        tilec.install()
    loader = importlib.machinery.SourceFileLoader(name, os.path.abspath(os.path.join(KERNELS, f"{name}.tile")))
    spec = importlib.util.spec_from_loader(name, loader)
    loaded = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(loaded)
    return loaded


def vector_add(torch, module):
    x, y = torch.randn(1 << 20, device="cuda"), torch.randn(1 << 20, device="cuda")
    out = torch.full_like(x, float("nan"))
    return lambda: module.vector_add[(1024,)](x, y, out, x.numel(), BLOCK=1024), out, lambda: x.double() + y.double()


def softmax(torch, module):
    x = torch.randn(512, 2000, device="cuda")
    out = torch.full_like(x, float("nan"))
    return lambda: module.softmax[(512,)](x, out, 2000, 2000, 2000, BLOCK=2048), out, lambda: torch.softmax(x.double(), 1)


def matmul(torch, module):
    a, b = torch.randn(512, 768, device="cuda").half(), torch.randn(768, 640, device="cuda").half()
    out = torch.full((512, 640), float("nan"), device="cuda", dtype=torch.float16)
    return (lambda: module.matmul[(20,)](a, b, out, 512, 640, 768, 768, 1, 640, 1, 640, 1, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8),
            out, lambda: a.double() @ b.double())


def attention_forward(torch, module):
    q, k, v = (torch.randn(2, 4, 512, 64, device="cuda").half() for _ in range(3))
    out, lse = torch.full_like(q, float("nan")), torch.empty(2, 4, 512, device="cuda")
    strides = [s for tensor in (q, k, v, out) for s in tensor.stride()[:3]]
    return (lambda: module.attention_forward[(4, 4, 2)](q, k, v, out, lse, lse, lse, lse, *strides, 512, 512, 0.125, HEAD_DIM=64,
                                                        BLOCK_M=128, BLOCK_N=64, CAUSAL=True, num_warps=8), out,
            lambda: torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True, scale=0.125))


CASES = {"vector_add": (vector_add, "vector_add"), "softmax": (softmax, "softmax"), "matmul": (matmul, "matmul"),
         "attention_forward": (attention_forward, "attention")}


def timed(torch, call):
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def child(variant, cases):
    import torch
    torch.zeros(1, device="cuda").add_(1)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    __import__(VARIANTS[variant])
    found = {"import": time.perf_counter() - begin, "first": {}, "again": {}}
    for case in cases:
        make, file = CASES[case]
        call, out, reference = make(torch, load(file, VARIANTS[variant]))
        torch.cuda.synchronize()
        found["first"][case], found["again"][case] = timed(torch, call), timed(torch, call)
        wanted = reference().double()
        error = ((out.double() - wanted).norm() / wanted.norm()).item()
        if not error < 2e-3:
            sys.exit(f"start.py: {case} of {variant} is off by {error}")
    print(json.dumps(found))


def start(variant, cases, folder):
    environment = os.environ | {"TRITON_CACHE_DIR": os.path.join(folder, "triton"), "TILEC_CACHE_DIR": os.path.join(folder, "tilec")}
    command = [sys.executable, os.path.abspath(__file__), "--child", variant, *cases]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def measure(variant, rounds):
    """What main prints of a variant."""
    opener, *cases = CASES
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        start(variant, [opener], os.path.join(folder, "prepared"))
        for i in range(rounds):
            mine = os.path.join(folder, str(i))
            shutil.copytree(os.path.join(folder, "prepared"), mine)
            runs.append([start(variant, list(CASES), mine) for _ in ("cold", "warm")])

    def middle(take, states=(0, 1)):
        return round(1e3 * statistics.median(take(run[state]) for run in runs for state in states), 3)

    rows = {case: {"cold": middle(lambda run, case=case: run["first"][case], [0]), "warm": middle(lambda run, case=case: run["first"][case], [1]),
                   "again": middle(lambda run, case=case: run["again"][case])} for case in cases}
    return {"import": middle(lambda run: run["import"]), "launch": middle(lambda run: run["first"][opener]), "kernels": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child[0], given.child[1:])
        return
    json.dump({variant: measure(variant, given.rounds) for variant in given.variants.split(",")}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
