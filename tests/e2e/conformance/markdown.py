#!/usr/bin/env python3
"""docs/conformance.md, from the table: what is checked of each builtin, of which types, how, and which text says so.

    markdown.py > docs/conformance.md
    markdown.py --check     that the file is up to date, every builtin with a value has a row, and what rows name is there"""
import argparse
import os
import re
import sys

import recordings
from otherwise import OTHERWISE
from formats import FORMATS
from rows import Ulp
from table import all_rows, groups

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
# Builtins that rows cannot touch, or that give nothing to compare.
WITHOUT_A_VALUE = {
    "type_predicate": "what x.is_floating and its like are", "lib_floats": "of the library written in the language", "const": "an annotation",
    "tensor_descriptor": "an annotation", **{f"language_{what}": "of the library written in the language" for what in ("changed", "feature", "ended")},
    "choose": "what gather, of the library written in the language, calls", "count": "what histogram, of the library written in the language, calls",
}


def builtins():
    """[(id, name, section)] of builtins.def, but for what is not covered."""
    found, section = [], ""
    with open(os.path.join(ROOT, "src/frontend/builtins.def")) as file:
        for line in file:
            title = re.match(r'SECTION\("(.*)"\)', line)
            section = title.group(1) if title else section
            row = re.match(r'BUILTIN\((\w+),\s*"([^"]*)"', line)
            if row and section != "Not covered":
                found.append((row.group(1), row.group(2), section))
    return found


def anchors(name):
    """Of the headings of a document."""
    with open(os.path.join(ROOT, "docs", name)) as file:
        titles = re.findall(r"^#+ (.*)$", file.read(), re.M)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def diagnostics():
    with open(os.path.join(ROOT, "src/support/diags.def")) as file:
        return set(re.findall(r"^DIAG\((\w+),", file.read(), re.M))


def mistakes(rows):
    """What is wrong with the table, in words."""
    known = {i: name for i, name, _ in builtins()}
    touched = {b for row in rows for b in row.builtins if not row.refused}
    for identity in known:
        if identity not in touched and identity not in WITHOUT_A_VALUE:
            yield f"no row touches the builtin {identity}"
    yield from (f"WITHOUT_A_VALUE has {i}, which {'rows touch' if i in touched else 'is no builtin'}" for i in WITHOUT_A_VALUE if i in touched
                or i not in known)
    documents, ids = {}, diagnostics()
    for row in rows:
        for b in row.builtins:
            if b not in known:
                yield f"{row.name}: {b} is no builtin"
            elif not re.search(rf"\b{re.escape(known[b])}\b", row.helpers + row.body):
                yield f"{row.name} does not call {known[b]}"
        document, _, anchor = row.doc.partition("#")
        if document not in documents:
            documents[document] = anchors(document)
        if anchor not in documents[document]:
            yield f"{row.name}: docs/{document} has no heading #{anchor}"
        if row.refused and row.refused not in ids:
            yield f"{row.name}: {row.refused} is no diagnostic"
        if not row.refused and row.apart and not row.exact:
            yield f"{row.name} is compared with nothing: it is apart from Triton and has no exact reference"


def compared(row):
    way = str(row.compare) if isinstance(row.compare, Ulp) else "bits"
    return way + ("" if row.exact else ", Triton's alone")


def line(name, rows):
    """A line of the table of what is computed."""
    types = sorted({t for r in rows for t in r.types}, key=lambda t: (list(FORMATS).index(t) if t in FORMATS else -1, t))
    ways = ", ".join(dict.fromkeys(compared(r) for r in rows))
    documents = ", ".join(f"[{d.partition('#')[2]}]({d})" for d in dict.fromkeys(r.doc for r in rows))
    apart = "; ".join(dict.fromkeys(why for r in rows for why in (r.apart, OTHERWISE.get(f"{r.group}: {r.name}")) if why))
    name = name.replace("|", "\\|")
    return f"| {name} | {len(rows)} | {' '.join(types)} | {ways} | {documents} | {apart} |"


def table_of(title, named):
    yield f"\n### {title}\n\n| what | rows | types | compared | documentation | apart from Triton 3.6 |\n|---|---|---|---|---|---|"
    yield from (line(name, rows) for name, rows in named.items())


def recorded():
    """A sentence about what there is."""
    headers = [recordings.read_file(os.path.join(recordings.FOLDER, name))[0] for name in sorted(os.listdir(recordings.FOLDER))] \
        if os.path.isdir(recordings.FOLDER) else []
    if not headers:
        return "Nothing is recorded: rows without an exact reference count as not recorded."
    where = ", ".join(dict.fromkeys(f"Triton {h['triton']} on {h['gpu']}" for h in headers))
    return f"{sum(len(h['rows']) for h in headers)} rows are recorded, by {where}."


def document(rows):
    wanted = [r for r in rows if not r.refused]
    refused = [r for r in rows if r.refused]
    exact, apart = sum(r.exact is not None for r in wanted), sum(bool(r.apart) for r in wanted)
    yield f"""# Conformance

Made by tests/e2e/conformance/markdown.py from the table beside it; do not edit.

{len(rows)} kernels in {len(groups())} groups are run by the interpreter, the simulator for sm_80 and sm_90a, and a GPU, and must leave what
Triton's do: bit for bit, but of a NaN only that it is one; functions within the units of the last place that
[codegen.md](codegen.md#floating-point) states, of Triton's own results within what both may err. {exact} of {len(wanted)} have an exact reference,
computed in NumPy, integers of Python or fractions; {len(refused)} are refused, by both. {apart} are not asked of Triton 3.6, for the reason that is
stated: it lacks them, or does otherwise as documented. {recorded()}

    tests/e2e/conformance/run.py --tilec build/release/src/cli/tilec [--device cpu|sim|cuda] [--filter TEXT]
    tests/e2e/conformance/triton_accepts.py      with a Python that has Triton: it compiles what it is asked, and refuses what is refused
    tests/e2e/conformance/record.py --out tests/e2e/conformance/recorded      on a GPU, with torch and Triton

## What is computed"""
    sections = {}
    names = {i: (name, section) for i, name, section in builtins()}
    for row in wanted:
        for b in row.builtins:
            name, section = names[b]
            sections.setdefault(section, {}).setdefault(f"`{name}`", []).append(row)
        if not row.builtins:
            sections.setdefault("Operators, control flow", {}).setdefault(row.topic, []).append(row)
    order = ["Operators, control flow", *dict.fromkeys(section for _, _, section in builtins())]
    for section in order:
        if section in sections:
            yield from table_of(section, dict(sorted(sections[section].items())))
    yield "\n## What is refused\n\n| kernel | diagnostic | documentation |\n|---|---|---|"
    yield from (f"| {r.name.removeprefix('refused ')} | {r.refused} | [{r.doc.partition('#')[2]}]({r.doc}) |" for r in refused)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = all_rows()
    said = list(mistakes(rows))
    for mistake in said:
        print(mistake, file=sys.stderr)
    text = "\n".join(document(rows)) + "\n" if not said else ""
    if not options.check:
        print(text, end="")
        return bool(said)
    with open(os.path.join(ROOT, "docs/conformance.md")) as file:
        if not said and file.read() != text:
            print("docs/conformance.md is not what tests/e2e/conformance/markdown.py makes", file=sys.stderr)
            return 1
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
