"""Measuring functions that launch kernels, comparing results, and reports with plots.

NumPy, torch, pandas and matplotlib are imported where they are needed."""
import functools
import gc
import math
import statistics
import subprocess
from contextlib import contextmanager

from tilec.triton import _refused
from tilec.triton import language as tl
from tilec.triton.runtime import driver

_MODES = ("min", "max", "mean", "median", "all")
_PROTON = "triton.testing.do_bench measures by events, do_bench_cudagraph without what the host takes"


def nvsmi(attrs):
    """Integers that nvidia-smi says of GPU 0: nvsmi(["clocks.current.sm"])."""
    words = ["nvidia-smi", "-i", "0", "--query-gpu=" + ",".join(attrs), "--format=csv,noheader,nounits"]
    return [int(word) for word in subprocess.check_output(words, text=True).split(",")]


def _quantile(a, q):
    """Between the two values that are nearest, as NumPy does."""
    ordered = sorted(a)

    def at(fraction):
        if not 0 <= fraction <= 1:
            raise ValueError("Quantiles must be in the range [0, 1]")
        place = fraction * (len(ordered) - 1)
        low, high = math.floor(place), math.ceil(place)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    return [at(fraction) for fraction in q]


def _summarize_statistics(times, quantiles, return_mode):
    if quantiles is not None:
        found = _quantile(times, quantiles)
        return found[0] if len(found) == 1 else found
    summaries = {"all": list, "min": min, "max": max, "mean": statistics.mean, "median": statistics.median}
    return summaries[return_mode](times)


def _check_mode(return_mode):
    assert return_mode in _MODES, f"return_mode is {return_mode!r}: one of {', '.join(_MODES)}"


def _forget_gradients(tensors):
    for x in tensors or ():
        x.grad = None


def _elapsed(interface, run):
    """Milliseconds between events before and after run()."""
    begin, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
    begin.record()
    run()
    end.record()
    interface.synchronize()
    return begin.elapsed_time(end)


def _runs_in(milliseconds, one):
    """How many runs of that time fill another. One that no clock sees counts as a thousandth of it."""
    return max(1, int(milliseconds / one)) if one > 0 else 1000


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds that fn() takes on the device, its caches emptied before each run.

    `warmup`, `rep`: milliseconds to run beforehand, and to measure. `grad_to_none`: tensors whose gradients are dropped before each
    run. `quantiles`: fractions; the result is a list of the times there, or the one time. `return_mode` else: min, max, mean, median,
    or all: a list of every run's time."""
    _check_mode(return_mode)
    active = driver.active
    interface = active.get_device_interface()
    fn()
    interface.synchronize()
    cache = active.get_empty_cache_for_benchmark()

    def several():
        for _ in range(5):
            active.clear_cache(cache)
            fn()

    estimate = _elapsed(interface, several) / 5
    for _ in range(_runs_in(warmup, estimate)):
        fn()
    # Nothing waits between the runs: the events say afterwards what each took.
    pairs = []
    for _ in range(_runs_in(rep, estimate)):
        begin, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
        _forget_gradients(grad_to_none)
        active.clear_cache(cache)
        begin.record()
        fn()
        end.record()
        pairs.append((begin, end))
    interface.synchronize()
    return _summarize_statistics([begin.elapsed_time(end) for begin, end in pairs], quantiles, return_mode)


@contextmanager
def cuda_graph_without_gc(*args, **kwargs):
    """torch.cuda.graph() in which nothing is collected: unloading a kernel's module would end the capture."""
    import torch

    enabled = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(*args, **kwargs) as graph:
            yield graph
    finally:
        if enabled:
            gc.enable()


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """As do_bench(), of runs that are one graph: without what the host takes to launch, caches as the runs leave them. Needs torch."""
    import torch

    _check_mode(return_mode)
    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        for x in grad_to_none or ():
            x.detach_()
            x.requires_grad_(True)
            x.grad = None

        def several():
            for _ in range(5):
                fn()

        count = _runs_in(rep, _elapsed(torch.cuda, several) / 5)
        graph = torch.cuda.CUDAGraph()
        with cuda_graph_without_gc(graph):
            for _ in range(count):
                _forget_gradients(grad_to_none)
                fn()
        torch.cuda.synchronize()
        times = [_elapsed(torch.cuda, graph.replay) / count for _ in range(10)]
    return _summarize_statistics(times, quantiles, return_mode)


def _as_numpy(x):
    """Of a tensor, an array or what makes one; bfloat16, which NumPy has not, as fp32."""
    import numpy as np

    if not hasattr(x, "detach"):
        return np.asarray(x)
    x = x.detach().cpu()
    return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """AssertionError where x and y differ by more than atol + rtol * |y|: 0.01 and 0 unless they are given, as numbers or as functions
    of x's type."""
    import numpy as np

    x = x if hasattr(x, "dtype") else np.asarray(x)
    atol, rtol = 1e-2 if atol is None else atol, 0.0 if rtol is None else rtol
    atol, rtol = (tolerance(x.dtype) if callable(tolerance) else tolerance for tolerance in (atol, rtol))
    x, y = _as_numpy(x), _as_numpy(y)
    if x.size > 1 or y.size > 1:
        np.testing.assert_allclose(x, y, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)
    elif not np.allclose(x, y, atol=atol, rtol=rtol):
        raise AssertionError(f"{err_msg} {x} is not close to {y} (atol={atol}, rtol={rtol})")


class Benchmark:
    """A plot: a line for each of `line_vals`, over the values of `x_vals`.

    x_names: arguments that are an x value, all of them the same number unless x_vals holds a tuple or list of as many; line_arg: the
    argument that tells lines apart, line_names: how they are called; args: the other arguments; plot_name: of the files, "" draws
    nothing; styles: (colour, line style) of each line."""

    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="", x_log=False, y_log=False,
                 styles=None):
        self.x_names, self.x_vals, self.x_log = x_names, x_vals, x_log
        self.line_arg, self.line_vals, self.line_names, self.styles = line_arg, line_vals, line_names, styles
        self.xlabel, self.ylabel, self.y_log = xlabel, ylabel, y_log
        self.plot_name, self.args = plot_name, args


class Mark:
    """A function that measures one point, and the plots that it makes. It returns a number, or (mean, least, most)."""

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def _rows(self, bench, keywords):
        """Of each x: its values, then means, minima and maxima of all lines."""
        for x in bench.x_vals:
            values = list(x) if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
            if len(values) != len(bench.x_names):
                raise ValueError(f"Expected {len(bench.x_names)} values, got {x}")
            points = []
            for line in bench.line_vals:
                made = self.fn(**dict(zip(bench.x_names, values)), **{bench.line_arg: line}, **bench.args, **keywords)
                try:
                    mean, low, high = made
                except TypeError:
                    mean, low, high = made, None, None
                points.append((mean, low, high))
            yield values + [point[i] for i in range(3) for point in points]

    def _plot(self, bench, table, labels, show, folder):
        import os

        import matplotlib.pyplot as plt

        figure, axes = plt.subplots()
        x = table[bench.x_names[0]]
        for i, (mean, low, high) in enumerate(zip(*labels)):
            colour, style = bench.styles[i] if bench.styles else (None, None)
            axes.plot(x, table[mean], label=bench.line_names[i] if not bench.ylabel else mean, color=colour, ls=style)
            if not (table[low].isnull().all() or table[high].isnull().all()):
                axes.fill_between(x, table[low].astype(float), table[high].astype(float), alpha=0.15, color=colour)
        axes.set(xlabel=bench.xlabel or bench.x_names[0], ylabel=bench.ylabel, xscale="log" if bench.x_log else "linear",
                 yscale="log" if bench.y_log else "linear")
        axes.legend()
        if show:
            plt.show()
        if folder:
            figure.savefig(os.path.join(folder, bench.plot_name + ".png"))
        plt.close(figure)

    def _run(self, bench, save_path, show_plots, print_data, diff_col=False, save_precision=6, **kwargs):
        import os

        import pandas

        labels = [[f"{name}{suffix} ({bench.ylabel})" for name in bench.line_names] for suffix in ("", "-min", "-max")]
        x_names = list(bench.x_names)
        table = pandas.DataFrame(list(self._rows(bench, kwargs)), columns=x_names + sum(labels, []))
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        if bench.plot_name and (show_plots or save_path):
            self._plot(bench, table, labels, show_plots, save_path)
        table = table[x_names + labels[0]]
        if diff_col and table.shape[1] == 2:
            first, second = table.columns
            table = table.assign(Diff=table[second] - table[first])
        if print_data:
            print(bench.plot_name + ":")
            print(table.to_string())
        if save_path:
            table.to_csv(os.path.join(save_path, bench.plot_name + ".csv"), float_format=f"%.{save_precision}f", index=False)
        return table

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        """Measures all plots; `save_path`: a folder for .png, .csv and results.html. With `return_df` a table of pandas, or the list."""
        import os

        single = isinstance(self.benchmarks, Benchmark)
        tables, done = [], []
        try:
            for bench in [self.benchmarks] if single else self.benchmarks:
                tables.append(self._run(bench, save_path, show_plots, print_data, **kwargs))
                done.append(bench.plot_name)
        finally:
            # What was measured before a failure can be looked at.
            if save_path:
                os.makedirs(save_path, exist_ok=True)
                with open(os.path.join(save_path, "results.html"), "w", encoding="utf-8") as page:
                    page.write("<html><body>\n" + "".join(f'<img src="{name}.png"/>\n' for name in done) + "</body></html>\n")
        if return_df:
            return tables[0] if single else tables
        return None


def perf_report(benchmarks):
    """Decorator: the function measures one point of a Benchmark, or of each of a list; .run() measures all."""
    return lambda fn: Mark(fn, benchmarks)


def _properties(device):
    device = driver.active.get_current_device() if device is None else device
    return driver.active.utils.get_device_properties(device), driver.active.get_device_capability(device)


def get_dram_gbps(device=None):
    """GB/s of the memory's pins: two transfers a clock."""
    properties, _ = _properties(device)
    return properties["mem_clock_rate"] * properties["mem_bus_width"] * 2 / 1e6 / 8


def _name(dtype):
    """"float16" of torch's, NumPy's and the language's types."""
    return dtype.codegen_name() if isinstance(dtype, tl.dtype) else str(getattr(dtype, "name", dtype)).split(".")[-1]


# Operations a clock of one of the four parts of a multiprocessor, of capability 8.0 on, and before it.
_TENSOR_OPS = ({"float32": 256, "int32": 256, "float16": 512, "bfloat16": 512, "int16": 512, "int8": 1024, "float8e4nv": 1024,
                "float8e4b15": 1024, "float8e5": 1024}, {"float16": 256})
_SIMD_OPS = ({"float32": 32, "float16": 64, "bfloat16": 64}, {"float32": 32, "float16": 64})


def _tflops(table, dtype, clock_rate, device):
    properties, capability = _properties(device)
    operations = table[capability < (8, 0)].get(_name(dtype))
    if operations is None:
        raise RuntimeError(f"dtype not supported: {dtype} at capability {capability[0]}.{capability[1]}")
    return properties["multiprocessor_count"] * 4 * clock_rate * operations * 1e-9


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    """TFLOPS of the tensor cores at a clock in kHz, as Triton counts them."""
    return _tflops(_TENSOR_OPS, dtype, clock_rate, device)


def get_max_simd_tflops(dtype, clock_rate, device=None):
    """TFLOPS without the tensor cores at a clock in kHz, as Triton counts them."""
    return _tflops(_SIMD_OPS, dtype, clock_rate, device)


def cuda_memcheck(**target_kwargs):
    """Decorator of tests. NVIDIA's program of that name is gone; TILEC_DEVICE=sim finds what is out of bounds: the test runs as it is."""
    return lambda test: functools.wraps(test)(lambda *args, **kwargs: test(*args, **kwargs))


@contextmanager
def set_gpu_clock(ref_sm_clock=1350, ref_mem_clock=1215):
    """GPU 0 at fixed clocks in MHz, which needs the right to set them; gives (TFLOPS, GB/s) that Triton counts for these."""

    def smi(*words):
        subprocess.check_output(["nvidia-smi", "-i", "0", *words])

    try:
        smi("-pm", "1")
        smi(f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}")
        smi(f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}")
        sm_clock, mem_clock = nvsmi(["clocks.current.sm", "clocks.current.memory"])
        assert abs(sm_clock - ref_sm_clock) < 10, f"GPU SMs must run at {ref_sm_clock} MHz, and run at {sm_clock}"
        assert abs(mem_clock - ref_mem_clock) < 10, f"GPU memory must run at {ref_mem_clock} MHz, and runs at {mem_clock}"
        yield 1e-6 * 2 * 108 * 4 * 256 * ref_sm_clock, 640 * 2 * ref_mem_clock * 1e-3
    finally:
        for word in (["-pm", "0"], ["-rgc"], ["-rmc"]):
            smi(*word)


do_bench_proton = _refused.function("triton.testing.do_bench_proton", _PROTON)
do_bench_cudagraph_proton = _refused.function("triton.testing.do_bench_cudagraph_proton", _PROTON)
cublas = _refused.function("triton.testing.cublas", "torch.matmul calls cuBLAS")
