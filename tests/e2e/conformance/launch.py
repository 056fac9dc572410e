"""Runs rows in processes of worker.py, which take a share of them each."""
import concurrent.futures
import os
import pickle
import subprocess
import sys
import time

from rows import module_source
from worker import CONTEXT_LOST

HERE = os.path.dirname(os.path.abspath(__file__))


def write_modules(rows, folder):
    """A file of kernels for each group."""
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    for group, members in groups.items():
        with open(os.path.join(folder, f"{group}.py"), "w") as file:
            file.write(module_source(members))


def read_results(path):
    found = {}
    try:
        with open(path, "rb") as file:
            while True:
                name, result = pickle.load(file)
                found[name] = result
    except (EOFError, FileNotFoundError):
        return found


def run_share(names, folder, arguments, environment, path, deadline):
    """Results of rows; one that ends the process is an error, and those behind it run in another process."""
    found, left, fruitless = {}, list(names), 0
    while left and fruitless < 2:
        try:
            done = subprocess.run([sys.executable, os.path.join(HERE, "worker.py"), folder, path, *arguments], input="\n".join(left), text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, timeout=max(deadline - time.time(), 0.1))
            last, lost = f"the process ended with status {done.returncode}: {done.stderr[-600:]}", done.returncode == CONTEXT_LOST
        except subprocess.TimeoutExpired:
            last, lost, fruitless = "not run in the time that there was", True, 2
        new = read_results(path)
        found.update(new)
        left = [n for n in left if n not in found]
        fruitless = 0 if new and fruitless < 2 else fruitless + 1
        if left and not lost:
            found[left.pop(0)] = (last, [])
    return {**found, **{n: (last, []) for n in left}}


def launch_all(rows, folder, jobs, package=None, device="cuda", target="", seconds=600):
    """{name: outputs or an error} of rows, with Triton, or with tilec's package for a device. A process takes every so-manieth row."""
    arguments = (["--tilec", package] if package else []) + (["--gpu"] if device == "cuda" else [])
    environment = {**os.environ, "TILEC_CACHE_DIR": "none"}
    if package:
        environment.update(TILEC_DEVICE=device, **({"TILEC_SIM_TARGET": target} if target else {}))
    shares = [[r.name for r in rows[i::jobs]] for i in range(jobs)]
    results, deadline = {}, time.time() + seconds
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_share, share, folder, arguments, environment, os.path.join(folder, f"{device}{target}.{i}"), deadline)
                   for i, share in enumerate(shares) if share]
        for future in futures:
            results.update(future.result())
    return results
