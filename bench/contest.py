"""Contests: one kernel of ours and its peers on a list of cases, each with its best configuration, timed in turn in one run.

A case has a `name`, its number of `operations`, facts `about` it for the tables, `passes(launch)`, which compares with a reference, and
`contenders(timer, tilec)`: name -> function of what was found before it, which gives (configuration, launch, what the
configurations took in a short run, us) or None. A reference has no configuration and is checked like the others.
"""
import contextlib
import math
import os
import re

import torch

from timing import geometric_mean


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


def runs(make, who, config):
    """A launch that has run once, or None: out of shared memory or registers, for example."""
    try:
        with without_stderr():
            launch = make(config)
            launch()
            torch.cuda.synchronize()
        return launch
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        print(f"  {who} {config}: {lines[0][:150]}", flush=True)
        return None


def best(timer, case, configs, make, who):
    """(configuration, launcher, short times), or None where none runs; a wrong result of tilec ends the run, a peer's is left out.
    `case.passes(launch)` compares."""
    launchers = {}
    for config in configs:
        launch = runs(make, who, config)
        if not launch:
            continue
        if case.passes(launch):
            launchers[config] = launch
        elif who.startswith("tilec"):
            raise SystemExit(f"{case.name}: {who} {config} disagrees with the reference")
        else:
            print(f"  {who} {config}: disagrees with the reference", flush=True)
    if not launchers:
        return None
    if len(launchers) == 1:
        return *next(iter(launchers.items())), {}
    quick = timer.medians(launchers, seconds=0.005, least=4, first=3)
    config = min(quick, key=quick.get)
    return config, launchers[config], quick


def one_case(case, timer, tilec, options, peers):
    found = {}
    for who, find in case.contenders(timer, tilec).items():
        answer = find(found) if who == "tilec" or re.search(options.peers, who) else None
        if answer:
            found[who] = answer
    if "tilec" not in found:
        raise SystemExit(f"{case.name}: no configuration of tilec runs")
    timed = timer.medians({who: launch for who, (_, launch, _) in found.items()}, seconds=options.seconds)
    ratios = {who: timed[who] / timed["tilec"] for who in peers if who in timed}
    chosen = {who: config for who, (config, _, _) in found.items() if config is not None}
    tried = {who: [[config, round(us, 1)] for config, us in sorted(quick.items(), key=lambda pair: pair[1])]
             for who, (_, _, quick) in found.items() if quick}
    print(f"{case.name:46} {timed['tilec']:9.1f} {case.operations / timed['tilec'] / 1e6:7.0f}  "
          + "  ".join(f"{ratios.get(who, math.nan):{6 + len(who)}.3f}" for who in peers) + f"  {chosen}", flush=True)
    return {"case": case.name, "about": case.about, "operations": case.operations, "us": timed, "ratios": ratios,
            "configurations": chosen, "tried": tried}


def reference(case, who, launch):
    """A contender without configurations, or None where it does not run here."""
    def find(found):
        running = runs(lambda config: launch, who, "")
        if running and not case.passes(running):
            raise SystemExit(f"{case.name}: {who} disagrees with the reference")
        return (None, running, {}) if running else None

    return find


def run(timer, tilec, options, key, peers, cases):
    """`cases`: (name, function that makes the case), so that those the filter leaves out cost nothing. Results go to
    `options.partial` after each, so that a run that is cut short has what it found."""
    print(f"{'case':46} {'tilec us':>9} {'TFLOPS':>7}  " + "  ".join(f"times {who}" for who in peers) + "  configurations")
    results = []
    for name, make in cases:
        if re.search(options.filter, name):
            results.append(one_case(make(), timer, tilec, options, peers))
            options.partial({key: results})
    summary = {}
    for who in peers:
        known = [r["ratios"][who] for r in results if who in r["ratios"]]
        summary |= {f"geometric mean of ratios to {who}": geometric_mean(known), f"least ratio to {who}": min(known)} if known else {}
    print("\n" + "\n".join(f"{name}: {value:.3f}" for name, value in summary.items()) + "\n")
    return {key: results, f"{key}_summary": summary}
