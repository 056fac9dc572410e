"""The best of several configurations of one contender: those that run and agree with the reference, by a short timing."""
import torch


def best(timer, case, configs, make, who):
    """(configuration, launcher), or None where none runs; a wrong result ends the run. `case.passes(launch)` compares."""
    launchers = {}
    for config in configs:
        try:
            launch = make(config)
            launch()
            torch.cuda.synchronize()
        except Exception as error:  # out of shared memory or registers: not a candidate
            lines = str(error).strip().splitlines() or [type(error).__name__]
            print(f"  {who} {config}: {lines[0][:150]}", flush=True)
            continue
        if not case.passes(launch):
            raise SystemExit(f"{case.name}: {who} {config} disagrees with float64")
        launchers[config] = launch
    if not launchers:
        return None
    quick = timer.medians(launchers, seconds=0.01, least=5)
    config = min(quick, key=quick.get)
    return config, launchers[config]
