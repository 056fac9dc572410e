"""The programs that faults are planted in: kernels of kernels/ as tilec compiles them, and PTX of Inputs/.

A subject is a function of tilec's path that returns its versions: (label, Program, Case).
"""
import os
import re

import numpy as np

import cases
import dot_cases
from cases import Case, array, output
from simulate import Program, TensorMap, compile_case

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
TARGETS = ("sm_80", "sm_90a")


def compiled(case, targets=TARGETS, options=()):
    return lambda tilec: [(target, compile_case(tilec, case, target, options), case) for target in targets]


def written(file, args, grid, reference, tolerance=None):
    """A PTX file of Inputs/ with one kernel."""
    with open(os.path.join(INPUTS, file), encoding="utf-8") as text:
        ptx = text.read()
    kernel = re.search(r"\.entry\s+([\w$]+)", ptx).group(1)
    target = re.search(r"\.target\s+(\w+)", ptx).group(1)
    case = Case(file, file, kernel, args, {}, grid, reference, tolerance=tolerance or {})
    return lambda tilec: [(target, Program(ptx, kernel, 0, 1, False), case)]


def integers(rng, shape, dtype="fp32", most=8):
    """Values whose sums are exact."""
    return array(rng.integers(-most, most + 1, shape), dtype)


def gemm_cp_async(rng, m=60, n=64, k=128):
    return written("gemm_cp_async.ptx",
                   {"a": integers(rng, (m, k), "fp16"), "b": integers(rng, (k, n), "fp16"), "c": output((m, n), "fp32"),
                    "m": m, "n": n, "k": k}, (1, n // 32), lambda v: {"c": v["a"] @ v["b"]})


def gemm_tma_wgmma(rng, n=64, k=832):
    return written("gemm_tma_wgmma.ptx",
                   {"a": integers(rng, (64, k), "fp16", 4), "b": integers(rng, (n, k), "fp16", 4), "c": output((64, n), "fp32"),
                    "map_a": TensorMap("a", (64, 64), "128B"), "map_b": TensorMap("b", (32, 64), "128B"),
                    "map_c": TensorMap("c", (64, 32)), "k": k}, (n // 32,), lambda v: {"c": v["a"] @ v["b"].T})


def multicast(rng, tiles=5):
    return written("multicast.ptx", {"x": integers(rng, (tiles, 64)), "y": output((2, 64), "fp32"), "tiles": tiles}, (2,),
                   lambda v: {"y": np.tile(v["x"].sum(axis=0), (2, 1))})


def named_barriers(rng, tiles=7):
    return written("named_barriers.ptx", {"x": integers(rng, (tiles, 64)), "y": output(64, "fp32"), "tiles": tiles}, (1,),
                   lambda v: {"y": v["x"].sum(axis=0)[::-1].reshape(2, 32)[:, ::-1].reshape(64)})


def chained_sums(rng, programs=6):
    return written("chained_sums.ptx", {"x": integers(rng, (programs, 64)), "y": output((programs, 64), "fp32"),
                                        "flags": array(np.zeros(programs), "i32")}, (programs,),
                   lambda v: {"y": np.cumsum(v["x"], axis=0)})


def last_program(rng, programs=6):
    return written("last_program.ptx", {"x": integers(rng, programs * 64), "part": array(np.zeros(programs), "fp32"),
                                        "count": array(np.zeros(1), "i32"), "total": output(1, "fp32")}, (programs,),
                   lambda v: {"total": np.array([v["x"].sum()])})


def in_place(rng):
    return written("in_place.ptx", {"x": integers(rng, 128), "y": output(128, "fp32"), "z": output(128, "fp32")}, (1,),
                   lambda v: turned(v["x"]))


def turned(x):
    y = x + 3 * np.roll(x, 64)
    return {"y": y, "z": 2 * y.reshape(64, 2)[:, ::-1].reshape(128)}


def all_subjects():
    rng = np.random.default_rng(7)
    return {
        "vector_add": compiled(cases.vector_add(rng, "fp16", 4000)),
        "silu_mul": compiled(cases.silu_mul(rng, "fp16", 3, 208, pad=16)),
        "softmax": compiled(cases.softmax(rng, "softmax", "fp16", 3, 1008)),
        "softmax_two_pass": compiled(cases.softmax(rng, "softmax_two_pass", "fp16", 2, 3056, block=1024)),
        "layernorm": compiled(cases.layernorm(rng, "fp16", 2, 2032)),
        "layernorm_backward": compiled(cases.layernorm_backward(rng, "fp16", 9, 112, 5)),
        "layernorm_backward_sum": compiled(cases.layernorm_backward_sum(rng, 70, 112)),
        "cross_entropy": compiled(cases.cross_entropy(rng, "fp16", "i64", 5, 3056), options=("--num-warps", "4")),
        "reduce_sum": compiled(cases.reduce_all(rng, "fp16", 10000, 9), options=("--num-warps", "1")),
        "transpose": compiled(cases.transpose(rng, "fp16", 80, 144, pad=16)),
        "matmul_persistent": compiled(dot_cases.matmul_persistent(rng, "fp16", 288, 144, 272, 1, block=(128, 128, 32)), ("sm_90a",)),
        "matmul_teams": compiled(dot_cases.matmul(rng, "fp16", 272, 144, 160, block=(128, 128, 64), pad=16), ("sm_90a",),
                                 ("--num-warps", "4", "--num-stages", "4")),
        "gemm_cp_async": gemm_cp_async(rng),
        "gemm_tma_wgmma": gemm_tma_wgmma(rng),
        "multicast": multicast(rng),
        "named_barriers": named_barriers(rng),
        "chained_sums": chained_sums(rng),
        "last_program": last_program(rng),
        "in_place": in_place(rng),
    }
