"""Assembles probes: modules of many kernels, as PTX and as cubin, and what ptxas refuses and why.

A prepared folder holds m<i>.ptx and m<i>.cubin, and prepared.json: {"kernels": {hash of a kernel's text: [module,
name]}, "refused": {form: message}}. It is made where ptxas is and used where the GPU is."""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess

from probe import HEADER, VERSION

MODULE_SIZE = 64
LIMIT = 120  # seconds for one module


def key_of(probe):
    text = probe.module + probe.entry if probe.module else probe.prefix + probe.text
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def module_text(probes):
    """The text, and the line before which each probe begins."""
    pieces, starts = [HEADER.format(version=VERSION)], []
    line = pieces[0].count("\n")
    for i, probe in enumerate(probes):
        starts.append(line)
        pieces.append((probe.prefix + probe.text).replace("NAME", f"k{i}"))
        line += pieces[-1].count("\n")
    return "".join(pieces), starts


def run_ptxas(ptxas, source):
    """None, or what ptxas said."""
    try:
        process = subprocess.run([ptxas, "-arch=sm_90a", "-o", source[:-4] + ".cubin", source], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"ptxas: no end after {LIMIT} s"
    return None if process.returncode == 0 else process.stderr.strip() or f"ptxas: exit status {process.returncode}"


def assemble(ptxas, path, probes):
    """(accepted probes, {form: message})."""
    refused, waiting = {}, list(probes)
    while waiting:
        text, starts = module_text(waiting)
        with open(path, "w") as file:
            file.write(text)
        said = run_ptxas(ptxas, path)
        if said is None:
            return waiting, refused
        found = {}
        for number, message in re.findall(r"line (\d+); (?:error|fatal)\s*: (.*)", said):
            found.setdefault(max((i for i, start in enumerate(starts) if start < int(number)), default=0), message.strip())
        if not found:  # a message without a line concerns one of them: the first half goes on alone
            if len(waiting) == 1:
                found = {0: said.splitlines()[0]}
            else:
                kept, first = assemble(ptxas, path, waiting[:len(waiting) // 2])
                others, second = assemble(ptxas, path, waiting[len(waiting) // 2:])
                refused.update(first | second)
                waiting = kept + others
                continue
        refused.update({waiting[i].form: message for i, message in found.items()})
        waiting = [p for i, p in enumerate(waiting) if i not in found]
    if os.path.exists(path):
        os.remove(path)
    return [], refused


def prepare(ptxas, probes, folder, workers, say):
    """Fills the folder."""
    os.makedirs(folder, exist_ok=True)
    single = [p for p in probes if p.module]
    small = [p for p in probes if not p.module]
    # Kernels of a module share what they are about: a fault in one disturbs its like only.
    small.sort(key=lambda p: p.group)
    parts = [[p] for p in single]
    for group in dict.fromkeys(p.group for p in small):
        members = [p for p in small if p.group == group]
        parts += [members[i:i + MODULE_SIZE] for i in range(0, len(members), MODULE_SIZE)]
    kernels, refused = {}, {}

    def work(numbered):
        number, part = numbered
        path = os.path.join(folder, f"m{number}.ptx")
        if part[0].module:
            with open(path, "w") as file:
                file.write(part[0].module)
            said = run_ptxas(ptxas, path)
            return number, (part if said is None else []), ({} if said is None else {part[0].form: said.splitlines()[0]})
        return (number, *assemble(ptxas, path, part))

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for number, accepted, turned_down in pool.map(work, enumerate(parts)):
            refused.update(turned_down)
            for i, probe in enumerate(accepted):
                kernels[key_of(probe)] = [f"m{number}.ptx", probe.entry or f"k{i}"]
            if number % 50 == 0:
                say(f"assembled {number} of {len(parts)} modules")
    with open(os.path.join(folder, "prepared.json"), "w") as file:
        json.dump({"kernels": kernels, "refused": refused}, file)


def read_prepared(folder):
    try:
        with open(os.path.join(folder, "prepared.json")) as file:
            return json.load(file)
    except OSError:
        return None
