"""Which probes ptxas accepts, and why not the others."""
import concurrent.futures
import re
import subprocess
import tempfile

from probe import HEADER, VERSION

AT_ONCE = 100


def complaints(ptxas, probes):
    """{index: message} of the probes of one module that ptxas refuses."""
    pieces = [HEADER.format(version=VERSION)]
    starts, line = [], pieces[0].count("\n")
    for i, probe in enumerate(probes):
        starts.append(line)
        pieces.append((probe.prefix + probe.text).replace("NAME", f"k{i}"))
        line += pieces[-1].count("\n")
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write("".join(pieces))
        file.flush()
        process = subprocess.run([ptxas, "-arch=sm_90a", "-O0", "-o", "/dev/null", file.name], capture_output=True, text=True)
    if process.returncode == 0:
        return {}
    found = {}
    for number, message in re.findall(r"line (\d+); (?:error|fatal)\s*: (.*)", process.stderr):
        index = max(i for i, start in enumerate(starts) if start < int(number))
        found.setdefault(index, message.strip())
    if not found and len(probes) == 1:
        found[0] = (process.stderr.strip() or f"ptxas: exit status {process.returncode}").splitlines()[0]
    return found if found else None


def refuse(ptxas, probes):
    """{form: message}."""
    refused = {}
    todo = list(probes)
    while todo:
        found = complaints(ptxas, todo)
        if found is None:  # a message without a line: one by one
            half = len(todo) // 2
            return {**refused, **refuse(ptxas, todo[:half]), **refuse(ptxas, todo[half:])}
        if not found:
            break
        refused.update({todo[i].form: message for i, message in found.items()})
        todo = [p for i, p in enumerate(todo) if i not in found]
    return refused


def refuse_all(ptxas, probes, workers):
    probes = [p for p in probes if not p.module]
    parts = [probes[i:i + AT_ONCE] for i in range(0, len(probes), AT_ONCE)]
    refused = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for part in pool.map(lambda part: refuse(ptxas, part), parts):
            refused.update(part)
    return refused
