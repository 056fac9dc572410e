"""Cold compilation, warm start and launch times of both compilers.

    cold         source to a loaded kernel, nothing cached, process and GPU warm
    warm         the first call in a fresh process with a warm on-disk cache, after imports and device set-up
    launch       one more launch of a compiled kernel, thousands in a row, CPU time

For tilec also, without a GPU's part: .tile to PTX inside the process, ptxas on that PTX, and the whole
`tilec compile --emit ptx` process. Each side runs in child processes with a fresh cache folder.
"""
import ctypes as c
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels")
COLUMNS = 1024
P, I = "*fp32:16", "i32:16"
# name -> file, types in the kernel's order
CASES = {
    "softmax": ("softmax.tile", [P, P, I, I, I]),
    "layernorm": ("layernorm.tile", [P, P, P, P, P, P, I, I, "fp32"]),
    "dropout_layernorm": ("dropout_layernorm.tile", [P, P, P, P, P, P, I, I, "fp32", "fp32", "i32"]),
}


def median_ms(function, count):
    samples = []
    for _ in range(count):
        start = time.perf_counter()
        function()
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)


def compile_command(tilec, name):
    file, types = CASES[name]
    return [tilec, "compile", os.path.join(KERNELS, file), "-k", name, "-s", ", ".join(types + [str(COLUMNS)]),
            "--target", "sm_90a", "--cache-dir", "none"]


def stages(build, name, count=21):
    """Median milliseconds of .tile to PTX inside a process, of ptxas on that PTX, and of a whole process to PTX."""
    tilec = os.path.join(build, "src", "cli", "tilec")
    file, types = CASES[name]
    inside = json.loads(subprocess.run([os.path.join(build, "bench", "bench_compile"), os.path.join(KERNELS, file), name,
                                        ", ".join(types + [str(COLUMNS)])], capture_output=True, check=True).stdout)
    ptxas = []
    for _ in range(count):
        report = json.loads(subprocess.run(compile_command(tilec, name) + ["--emit", "cubin", "-o", os.devnull, "--json"],
                                           capture_output=True, check=True).stdout)
        ptxas += [stage["ms"] for stage in report["stages"] if stage["name"] == "ptxas"]
    command = compile_command(tilec, name) + ["--emit", "ptx", "-o", os.devnull]
    process = median_ms(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), count)
    return {"to_ptx_ms": inside["median_ms"], "first_ms": inside["first_ms"], "ptxas_ms": statistics.median(ptxas),
            "process_ms": process}


def arguments(name):
    import torch

    x = torch.randn(64, COLUMNS, device="cuda")
    w = torch.randn(COLUMNS, device="cuda")
    stat = torch.empty(64, device="cuda")
    if name == "softmax":
        return [x, torch.empty_like(x), COLUMNS, COLUMNS, COLUMNS]
    if name == "layernorm":
        return [x, torch.empty_like(x), w, w, stat, stat, COLUMNS, COLUMNS, 1e-5]
    return [x, x, w, w, torch.empty_like(x), torch.empty_like(x), COLUMNS, COLUMNS, 0.1, 1e-5, 1234]


def child(side, library):
    """Times the first and later calls of each kernel; prints JSON."""
    import torch

    values = {name: arguments(name) for name in CASES}
    (torch.ones(1024, device="cuda") + 1).sum().item()
    launchers = {}
    if side == "triton":
        import triton_side

        for name, (file, _) in CASES.items():
            function = getattr(triton_side.load(os.path.join(KERNELS, file)), name)
            launchers[name] = lambda f=function, v=values[name]: f[(64, 1, 1)](*v, BLOCK=COLUMNS)
    else:
        from tilec_side import Tilec

        tilec = Tilec(library, os.environ["TILEC_CACHE_DIR"])
        stream, grid = c.c_void_p(torch.cuda.current_stream().cuda_stream), (c.c_uint32 * 3)(64, 1, 1)
        for name, (file, _) in CASES.items():
            packed = tilec.pack(values[name] + [("constexpr", COLUMNS)])
            # The function is made inside the first call, so that reading and parsing count.
            made = {}

            def call(name=name, file=file, packed=packed, made=made):
                if "f" not in made:
                    made["f"] = tilec.function(os.path.join(KERNELS, file), name)
                tilec.lib.tile_function_launch(made["f"], tilec.device, grid, stream, packed, c.c_size_t(len(packed)), None)

            launchers[name] = call
    result = {}
    for name, launch in launchers.items():
        start = time.perf_counter()
        launch()
        torch.cuda.synchronize()
        result[name] = {"first_ms": (time.perf_counter() - start) * 1e3}
    for name, launch in launchers.items():
        samples = []
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(100):
                launch()
            samples.append((time.perf_counter() - start) * 1e4)
            torch.cuda.synchronize()
        result[name]["launch_us"] = statistics.median(samples)
    print(json.dumps(result))


def run_child(side, library, cache):
    environment = dict(os.environ, TRITON_CACHE_DIR=os.path.join(cache, "triton"), TILEC_CACHE_DIR=os.path.join(cache, "tilec"))
    output = subprocess.run([sys.executable, os.path.abspath(__file__), side, library], env=environment, check=True,
                            capture_output=True).stdout
    return json.loads(output.splitlines()[-1])


def run(build):
    library = os.path.realpath(os.path.join(build, "src", "runtime", "libtilec.so"))
    report = {name: {"stages": stages(build, name)} for name in CASES}
    for side in ("tilec", "triton"):
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = run_child(side, library, cache), run_child(side, library, cache)
        for name in CASES:
            report[name][side] = {"cold_ms": cold[name]["first_ms"], "warm_ms": warm[name]["first_ms"],
                                  "launch_us": warm[name]["launch_us"]}
    print(f"\n{'kernel':20} {'to PTX ms':>10} {'ptxas ms':>9} {'process ms':>11} {'cold ms: tilec':>15} {'Triton':>8} "
          f"{'warm ms: tilec':>15} {'Triton':>8} {'launch us: tilec':>17} {'Triton':>8}")
    for name in CASES:
        r = report[name]
        print(f"{name:20} {r['stages']['to_ptx_ms']:10.2f} {r['stages']['ptxas_ms']:9.1f} {r['stages']['process_ms']:11.1f} "
              f"{r['tilec']['cold_ms']:15.1f} {r['triton']['cold_ms']:8.1f} {r['tilec']['warm_ms']:15.2f} "
              f"{r['triton']['warm_ms']:8.1f} {r['tilec']['launch_us']:17.2f} {r['triton']['launch_us']:8.2f}")
    return report


if __name__ == "__main__":
    child(sys.argv[1], sys.argv[2])
