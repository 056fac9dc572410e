"""The best of several configurations of one contender: those that run and agree with the reference, by a short timing."""
import contextlib
import os

import torch


@contextlib.contextmanager
def without_stderr():
    """Compilers that fail write their whole program there, past Python."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def best(timer, case, configs, make, who):
    """(configuration, launcher), or None where none runs; a wrong result of tilec ends the run, a peer's is left out.
    `case.passes(launch)` compares."""
    launchers = {}
    for config in configs:
        try:
            with without_stderr():
                launch = make(config)
                launch()
                torch.cuda.synchronize()
        except Exception as error:  # out of shared memory or registers: not a candidate
            lines = str(error).strip().splitlines() or [type(error).__name__]
            print(f"  {who} {config}: {lines[0][:150]}", flush=True)
            continue
        if case.passes(launch):
            launchers[config] = launch
        elif who == "tilec":
            raise SystemExit(f"{case.name}: tilec {config} disagrees with float64")
        else:
            print(f"  {who} {config}: disagrees with float64", flush=True)
    if not launchers:
        return None
    quick = timer.medians(launchers, seconds=0.01, least=5)
    config = min(quick, key=quick.get)
    return config, launchers[config]
