"""cycles.py BUILD: no two files of src need each other, as the symbols of the libraries of a build tell; see CYCLES for those that may.

A file needs another one whose functions or data it names. Reads what `nm` says of the objects."""
import collections
import os
import re
import subprocess
import sys

BUILD = sys.argv[1]
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "src")
# Files that may need each other, as patterns of <folder>/<name>: a grammar, or a table of functions that call back.
CYCLES = {
    "the parser of expressions and statements": r"frontend/parse_(atom|expr|function|literal|stmt)",
    "the interpreter of host code": r"frontend/host_(calls|code|eval|paths)",
    "the elaborator, by builtins.def": r"frontend/(bindings|builtins|elaborate|evaluate|constexpr|convert|names|objects|parameters|promote|signature|value)\w*",
    "the interpreter, by ops.def": r"interp/\w+",
    "the simulator's copies and the mbarriers they complete at": r"sim/exec/(exec_bulk|mbarrier)",
}


def objects():
    """<folder>/<path without .c> -> its object file, of everything under src."""
    found = {}
    for folder, _, names in os.walk(os.path.join(BUILD, "src")):
        for name in names:
            path = os.path.join(folder, name)
            match = re.search(r"/src/(\w+)/CMakeFiles/[^/]+\.dir/(?!.*\.\.)(\w+/)?(\w+)\.c\.o$", path)
            if match and os.path.exists(os.path.join(SOURCES, match[1], match[2] or "", match[3] + ".c")):
                found[f"{match[1]}/{match[2] or ''}{match[3]}"] = path
    return found


def symbols(files):
    """What each file defines for others, and what it takes from others."""
    defines, takes = collections.defaultdict(set), collections.defaultdict(set)
    for name, path in files.items():
        for line in subprocess.run(["nm", "-g", path], capture_output=True, text=True, check=True).stdout.splitlines():
            *_, kind, symbol = line.split()
            (takes if kind == "U" else defines)[name].add(symbol)
    return defines, takes


def needs(files):
    defines, takes = symbols(files)
    owner = {symbol: name for name, own in defines.items() for symbol in own}
    return {name: {owner[s] for s in takes[name] if s in owner and owner[s] != name} for name in files}


def cycles(graph):
    """Sets of files that reach each other (Tarjan's strongly connected components), without single files."""
    index, low, stack, found = {}, {}, [], []

    def visit(name):
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            component = set(stack[stack.index(name):])
            del stack[stack.index(name):]
            if len(component) > 1:
                found.append(component)

    sys.setrecursionlimit(10000)
    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


files = objects()
graph = needs(files)
wrong = [component for component in cycles(graph) if not any(all(re.fullmatch(p, name) for name in component) for p in CYCLES.values())]
for component in wrong:
    print("these files need each other:")
    for name in sorted(component):
        print(f"    {name}: {' '.join(sorted(graph[name] & component))}")
print(f"{len(files)} files, {len(wrong)} cycles")
sys.exit(bool(wrong) or len(files) < 100)
