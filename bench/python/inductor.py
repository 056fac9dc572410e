"""torch.compile over tilec and over Triton: whether results agree with torch's own, and what generated kernels take.

    python inductor.py [--variants triton,tilec,tilec-calls] [--models mlp,scan] [--limit SECONDS]

Prints a JSON line for each model and variant, each variant in a process of its own: `triton`, what is installed; `tilec`, launched by
Inductor's static launcher, where that can, its kernels compiled by Inductor's pool of processes; `tilec-calls`, launched by
CompiledKernel.run. Microseconds of the whole model (`eager_us`, `us`) and of the generated kernels in it (`kernel_us`); `error`: the
greatest difference from eager results, `from_triton`: from those of the variant triton, relative to the greatest magnitude of each
result, in the same process order and with the same random numbers. `first_s`: until the first call has come back."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

VARIANTS = ("triton", "tilec", "tilec-calls")
# Modules that Inductor's own processes import, which PYTHONPATH gives no .pth files.
SITE = 'import os\nif os.environ.get("TILEC_TRITON"):\n    __import__("tilec").install()\n'
RUNS, LEAST_MS = 20, 5


def flat(results):
    if isinstance(results, (tuple, list)):
        return [leaf for item in results for leaf in flat(item)]
    return [results]


def call(torch, model, inputs, differentiates):
    """Its results, and gradients behind them."""
    torch.manual_seed(1)
    leaves = [each for each in inputs if each.requires_grad]
    leaves += list(model.parameters()) if hasattr(model, "parameters") else []
    for leaf in leaves:
        leaf.grad = None
    results = flat(model(*inputs))
    if differentiates:
        sum(each.float().square().mean() for each in results).backward()
    # Copies of gradients: later calls add to them.
    return [each.detach() for each in results] + [leaf.grad.clone() for leaf in leaves if differentiates and leaf.grad is not None]


def difference(torch, mine, others):
    """Of results, relative to the greatest magnitude of each; infinite where shapes, types or what is no number differ."""
    worst = 0.0
    for a, b in zip(mine, others, strict=True):
        a, b = a.cpu(), b.cpu()
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        a, b = a.double(), b.double()
        wrong = a.isnan() != b.isnan()
        if wrong.any() or (a.isinf() != b.isinf()).any():
            return float("inf")
        scale = max(b.nan_to_num(0, 0, 0).abs().max().item(), 1e-6) if b.numel() else 1
        if b.numel():
            worst = max(worst, (a - b).nan_to_num(0, 0, 0).abs().max().item() / scale)
    return worst


def measure(torch, function):
    """Microseconds of a call, the middle of several."""
    times = []
    function()
    for _ in range(RUNS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end))
        if sum(times) > 1e3 * LEAST_MS * RUNS:
            break
    return sorted(times)[len(times) // 2]


def kernels(torch, function):
    """(microseconds, number) of the generated kernels in one call, by torch's profiler; (None, None): it sees none."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(5):
            function()
        torch.cuda.synchronize()
    mine = [event for event in profiler.key_averages() if event.key.startswith("triton_")]
    total = sum(getattr(event, "device_time_total", None) or getattr(event, "cuda_time_total", 0) for event in mine)
    return (total / 5, sum(event.count for event in mine) // 5) if mine else (None, None)


def count_launchers(counts):
    """Counts by which of its launchers Inductor launches."""
    from torch._inductor.runtime import triton_heuristics

    for name, kind in (("StaticTritonCompileResult", "static"), ("TritonCompileResult", "called")):
        result = getattr(triton_heuristics, name, None)
        if result is None:
            continue

        def counted(self, _make=result.make_launcher, _kind=kind):
            made = _make(self)
            counts[_kind] = counts.get(_kind, 0) + 1
            return made

        result.make_launcher = counted


def differential(torch, model, inputs, differentiates):
    """What is timed: without the copying of results."""
    def run():
        results = flat(model(*inputs))
        if differentiates:
            sum(each.float().square().mean() for each in results).backward()

    return run


def of_model(torch, name, model, inputs, differentiates, folder, variant):
    line = {"model": name, "variant": variant}
    torch._dynamo.reset()
    eager = call(torch, model, inputs, differentiates)
    line["eager_us"] = measure(torch, differential(torch, model, inputs, differentiates))
    begin = time.perf_counter()
    compiled = torch.compile(model)
    results = call(torch, compiled, inputs, differentiates)
    torch.cuda.synchronize()
    line["first_s"] = time.perf_counter() - begin
    run = differential(torch, compiled, inputs, differentiates)
    line["us"] = measure(torch, run)
    line["kernel_us"], line["kernels"] = kernels(torch, run)
    # Random numbers of generated kernels are not eager's; those of the variants are the same.
    line["error"] = None if name == "pointwise" else difference(torch, results, eager)
    path = os.path.join(folder, f"{name}.pt")
    if variant == "triton":
        torch.save([each.cpu() for each in results], path)
    elif os.path.exists(path):
        line["from_triton"] = difference(torch, results, torch.load(path))
    return line


def child(variant, names, folder):
    if variant != "triton":
        import tilec

        tilec.install()
    import torch
    import torch._dynamo
    from torch._inductor import config

    is_static = variant == "tilec" or variant == "triton"
    for option in ("use_static_triton_launcher", "use_static_cuda_launcher"):
        if hasattr(config, option):
            setattr(config, option, is_static)
    if variant == "tilec-calls":
        config.compile_threads = 1
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    counts = {}
    count_launchers(counts)
    from inductor_models import models

    torch.manual_seed(0)
    for name, (model, inputs, differentiates) in models().items():
        if names and name not in names:
            continue
        counts.clear()
        try:
            line = of_model(torch, name, model, inputs, differentiates, folder, variant)
        except Exception as error:  # the next model may do
            line = {"model": name, "variant": variant, "failed": f"{type(error).__name__}: {error}"[-2000:]}
        print(json.dumps(line | {"launchers": dict(counts)}), flush=True)


def start(variant, names, folder, limit):
    """Runs a variant; False: it did not end well."""
    site = os.path.join(folder, "site")
    os.makedirs(site, exist_ok=True)
    with open(os.path.join(site, "sitecustomize.py"), "w", encoding="utf-8") as file:
        file.write(SITE)
    environment = {name: value for name, value in os.environ.items() if name != "TILEC_TRITON"}
    environment["PYTHONPATH"] = os.pathsep.join([site, os.environ.get("PYTHONPATH", "")])
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TILEC_CACHE_DIR"):
        environment[name] = os.path.join(folder, variant, name)
    words = [sys.executable, os.path.abspath(__file__), "--child", variant, "--models", ",".join(names), "--folder", folder]
    try:
        return subprocess.run(words, env=environment, timeout=limit, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        print(json.dumps({"variant": variant, "failed": f"it did not end within {limit:.0f} s"}), flush=True)
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--models", default="")
    parser.add_argument("--limit", type=float, default=400, help="seconds for all")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = [name for name in given.models.split(",") if name]
    if given.child:
        child(given.child, names, given.folder)
        return 0
    end = time.perf_counter() + given.limit
    with tempfile.TemporaryDirectory() as folder:
        variants = sorted(given.variants.split(","), key=lambda variant: variant != "triton")  # which others are compared with
        done = [start(variant, names, folder, max(end - time.perf_counter(), 1)) for variant in variants]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
