"""documents.py ROOT: what README.md and docs/ say of the sources by name is so: links, files, passes in their order, subcommands, who includes whom,
how attributes are read; that properties of ops are traits of theirs."""
import os
import re
import sys

ROOT = sys.argv[1]
# Folders of src and which others of it they include, beside what those include
USES = {"support": "", "types": "support", "target": "types", "ir": "target", "frontend": "ir", "interp": "ir", "passes": "interp", "codegen": "ir",
        "sim": "ir", "runtime": "frontend passes codegen sim", "inspect": "runtime", "lsp": "runtime", "reduce": "runtime", "cli": "inspect lsp reduce",
        "simdriver": "runtime"}
# The same for the rooms of a folder, and which headers of the folder itself each of them may include
ROOMS = {"passes": {"contract": "dots shared", "analysis": "", "simplify": "analysis", "layout": "simplify", "blocks": "layout", "loops": "layout", "launch": "blocks",
                    "dots": "blocks", "shared": "layout", "schedule": "blocks shared", "lint": "analysis"},
         "codegen": {"llvm": "", "values": "llvm", "tile": "values", "memory": "values", "products": "tile memory"},
         "sim": {"parse": "", "report": "parse", "state": "parse", "time": "report state", "check": "state", "exec": "check time"},
         "runtime": {"driver": "", "tools": "", "cache": "", "data": "", "launch": "driver tools", "compile": "tools cache launch", "host": "compile", "ahead": "compile", "tune": "ahead",
                     "bench": "tune data",
                     "api": "tune data host"}}
DOORS = {"passes": {"rewrite.h", "passes.h", "passes.def"}, "codegen": {"cg.h", "lowerings.h"}, "sim": {"sim.h"}, "runtime": {"status.h", "status.def"}}
# Documents whose table of files is to be complete, and of which folder
TABLES = {"docs/codegen.md": "src/codegen", "docs/simulator.md": "src/sim", "docs/runtime.md": "src/runtime"}
# Files that a user makes or a run leaves
EXAMPLES = {"kernels.c", "kernels.h", "FILE.tir", "FILE.json", "FILE.ptx", "k.ptx", "kernel.ptx", "kernel.json", "agreement.md", "agreement.json", "cuda.h", "k.py", "old/k.py", "new/k.py", "triton.ptx",
            "k.json"}
STAGE = re.compile(r"\d\d-[\w-]+\.(?:txt|tir)")  # of --dump-dir
FILE = re.compile(r"[\w./*\[\]-]+\.(?:c|h|def|py|re|test|tir|tile|sh|json|md|cu|ptx)\b")
wrong = []


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def files():
    listed = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        listed += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return listed


def anchors(text):
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)}


def check_links(document, text):
    for link in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
        if not os.path.exists(os.path.join(ROOT, target)) or (anchor and anchor not in anchors(read(target))):
            wrong.append(f"{document}: the link to {link} leads nowhere")


def check_names(document, text, paths):
    for code in re.findall(r"`([^`\n]+)`", text):
        for name in FILE.findall(code):
            pattern = re.escape(name).replace(r"\*", "[^/]*").replace(r"\[ch\]", "[ch]")
            if name not in EXAMPLES and not STAGE.fullmatch(name) and "$" not in code and not any(re.search(rf"(^|/){pattern}$", path) for path in paths):
                wrong.append(f"{document}: there is no {name}")


def check_table(document, text, paths):
    named = [re.escape(name).replace(r"\*", ".*") for code in re.findall(r"`([^`\n]+)`", text) for name in FILE.findall(code)]
    for path in paths:
        folder, name = os.path.split(path)
        if (folder + "/").startswith(TABLES[document] + "/") and name.endswith(".c") and not any(re.fullmatch(pattern, name) for pattern in named):
            wrong.append(f"{document}: no word of {path}")


def pass_rows():
    """Of each row of passes.def by id: its name, and what it requires, ensures and clears."""
    text = read("src/passes/passes.def")
    sets = r"\s*REQUIRES\(([^)]*)\),\s*ENSURES\(([^)]*)\),\s*CLEARS\(([^)]*)\)\)"
    rows = re.findall(rf'^PASS\((\w+),\s+"([\w-]+)",\s+"[^"]*",{sets}', text, re.M)
    assert len(rows) == len(re.findall(r"^PASS\(", text, re.M))
    return {name: (text, *(set(re.findall(r"\w+", part)) - {"NOTHING"} for part in sets)) for name, text, *sets in rows}


def pipeline():
    """Steps in order: the pass and where it runs, in words."""
    text = read("src/passes/pipeline.def")
    conditions = dict(re.findall(r'^CONDITION\((\w+),\s+"(.+)"\)', text, re.M))
    return [(name, conditions[condition]) for name, condition in re.findall(r"^STEP\((\w+),\s+(\w+)\)", text, re.M)]


def told_order(rows):
    """What passes.md says of the order: where runs of steps run, and which these are."""
    runs = []
    for name, where in pipeline():
        if not runs or runs[-1][0] != where:
            runs.append((where, []))
        runs[-1][1].append(rows[name][0])
    return " ".join(f"{where}: {', '.join(names)}" for where, names in runs)


def told_properties(rows):
    """The rows of the table of properties in passes.md."""
    def passes(column, name):
        return ", ".join(row[0] for row in rows.values() if name in row[column]) or "-"
    listed = re.findall(r'^\w+_PROPERTY\s*\((\w+),\s+"(.*?)", "(.*?)"\)', read("src/passes/contract/properties.def"), re.M)
    return [f"| {name} | {meaning} | {passes(2, name)} | {passes(1, name)} | {passes(3, name)} |" for name, _, meaning in listed]


def check_passes(paths):
    """The order and the properties in passes.md are the tables', excerpts of the order agree, each pass has a section that shows IR, a file whose
    head shows IR, and a test by its name in the folder of tests that mirrors the source's."""
    rows = pass_rows()
    text = read("docs/passes.md")
    told = re.search(r"has the order:\n\n(.*?)\n\n", text, re.S).group(1)
    if " ".join(told.split()) != told_order(rows):
        wrong.append(f"docs/passes.md: the order is {told_order(rows)}")
    wrong.extend(f"docs/passes.md: no line {line}" for line in told_properties(rows) if line not in text.split("\n"))
    sections = {name.strip(): body for title, body in re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", text, re.M) for name in title.split(",")}
    for name, row in rows.items():
        if not re.search(r"^    \S", sections.get(row[0], ""), re.M):
            wrong.append(f"docs/passes.md: no section on {row[0]} with IR")
        sources = [path for path in paths if re.fullmatch(rf"src/passes/\w+/{name}\.c", path)]
        heads = [read(path).split("*/")[0] for path in sources]
        if len(heads) != 1 or not heads[0].startswith(f"/* {row[0]}:") or not re.search(r"^ \*     ", heads[0], re.M):
            wrong.append(f"src/passes: {row[0]} has no file {name}.c whose head shows IR")
        folders = ["tests" + os.path.dirname(path)[len("src"):] for path in sources]
        if not any(re.fullmatch(rf"{folder}/{name}(?:_\w+)?\.tir", path) for folder in folders for path in paths):
            wrong.append(f"{', '.join(folders)}: {row[0]} has no test {name}.tir")
    for document in ("docs/tensor-cores.md", "docs/tma.md"):
        excerpt = re.search(r"Order: (.*?)(?:(?<!\.)\.\s|\n\n)", read(document), re.S).group(1)
        rest = iter([rows[name][0] for name, _ in pipeline()])
        if not all(name in rest for name in re.findall(r"[a-z][\w-]+", excerpt)):
            wrong.append(f"{document}: passes do not run in the order {excerpt}")


def check_commands():
    rows = re.findall(r"^\| `tilec (.+?)` \|", read("docs/runtime.md"), re.M)
    told = set(re.findall(r"[a-z]+", re.sub(r"tilec|FILE\S*|\.\.\.", " ", " ".join(rows))))
    commands = set(re.findall(r'^COMMAND\((\w+), +"', read("src/cli/commands.def"), re.M))
    if told != commands:
        wrong.append(f"docs/runtime.md: the subcommands are {', '.join(sorted(commands))}, not {', '.join(sorted(told))}")


def check_version():
    """CMake, the header and the changes have the same version."""
    version = re.search(r"^project\(tilec VERSION ([\d.]+)", read("CMakeLists.txt"), re.M).group(1)
    header = ".".join(re.search(rf"#define TILE_VERSION_{part} (\d+)", read("include/tilec/base.h")).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    changes = re.search(r"^## ([\d.]+)", read("CHANGELOG.md"), re.M).group(1)
    if not version == header == changes:
        wrong.append(f"the version is {version} in CMakeLists.txt, {header} in tilec/base.h, {changes} in CHANGELOG.md")


def check_environment():
    """Man pages and runtime.md name the same variables."""
    told = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|([^|]+)\|", read("docs/runtime.md").split("## Environment")[1], re.M)))
    rows = re.findall(r"^VARIABLE\((\w+),", read("src/cli/environment.def"), re.M)
    if told != rows:
        wrong.append(f"docs/runtime.md: the variables are {', '.join(rows)}, not {', '.join(told)}")


def used_by(folder, uses):
    return {folder}.union(*(used_by(other, uses) for other in uses[folder].split()))


def check_room(path, folder, room, text):
    """A room includes its own headers, those of rooms that it uses, and the folder's doors."""
    if room not in ROOMS[folder]:
        wrong.append(f"{path}: the room {room} is not one of those in architecture.md")
        return
    for included in re.findall(rf'^#include "{folder}/([\w/.]+)"', text, re.M):
        other, _, name = included.rpartition("/")
        if (name not in DOORS[folder]) if not other else (other not in used_by(room, ROOMS[folder])):
            wrong.append(f"{path} includes {folder}/{included}")


def check_includes(paths):
    """Who may include whom, as architecture.md says."""
    for path in paths:
        parts = path.split("/")
        if parts[0] != "src" or len(parts) < 3 or not path.endswith((".c", ".h", ".re")):
            continue
        text = read(path)
        included = set(re.findall(r'^#include "(\w+)/', text, re.M))
        wrong.extend(f"{path} includes {other}/" for other in sorted(included - used_by(parts[1], USES)))
        if len(parts) == 4:
            check_room(path, parts[1], parts[2], text)


def check_rooms(paths):
    """Every room stands in architecture.md; a folder with rooms has at most a dozen files of its own."""
    text = read("docs/architecture.md")
    for folder, rooms in ROOMS.items():
        told = re.search(rf"^### The rooms of src/{folder}\n(.*?)(?=^##)", text, re.M | re.S).group(1)
        if set(re.findall(r"^\| ([a-z]+) \|", told, re.M)) - {"room"} != set(rooms):
            wrong.append(f"docs/architecture.md: the rooms of src/{folder} are {', '.join(rooms)}")
        own = [path for path in paths if os.path.dirname(path) == f"src/{folder}"]
        if len(own) > 12:
            wrong.append(f"src/{folder} has {len(own)} files outside of rooms")


def check_attributes(paths):
    """Nobody outside of src/ir goes by where an attribute of an op stands."""
    for path in paths:
        if path.startswith(("src/", "tests/")) and not path.startswith("src/ir/") and path.endswith((".c", ".h")):
            wrong.extend(f"{path} takes attributes by place: {line.strip()}" for line in read(path).splitlines() if re.search(r"\battrs\[|op\w*->attrs\b", line))


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment.group()), text, flags=re.S)


def lists_of_ops(text, ops):
    """Where a text lists three ops or more by name as what they have in common, and which: in one expression that compares the same code with each,
    as labels of one case, or in braces, but as indices of a table."""
    for part in re.finditer(r"[^;{}]+", text):
        listed = {}
        for code, op in re.findall(r"([\w.>\[\]-]+)\s*[=!]=\s*OP_(\w+)", part.group()):
            listed.setdefault(code, set()).add(op)
        labels = max(re.findall(r"(?:case\s+OP_\w+\s*:\s*)+", part.group()), key=len, default="")
        values = re.findall(r"(?:(?<=^)|(?<=,))\s*OP_(\w+)\s*(?=,|$)", part.group())
        for found in [*listed.values(), set(re.findall(r"OP_(\w+)", labels)), set(values)]:
            if len(found & ops) >= 3:
                start = part.end() - len(part.group().lstrip())
                yield text.count("\n", 0, start) + 1, sorted(found & ops)


def check_properties(paths):
    """No list of ops says what a trait of ops.def is to say: whoever adds an op would have to find it. Tables with a row for each op are none."""
    ops = set(re.findall(r"^OP(?:_E|_R)?\s*\((\w+),", read("src/ir/ops.def"), re.M))
    for path in paths:
        if path.startswith("src/") and path.endswith((".c", ".h", ".re")):
            wrong.extend(f"{path}:{line} lists {', '.join(found)}: what they have in common is a trait, of src/ir/ops.def"
                         for line, found in lists_of_ops(without_comments(read(path)), ops))


paths = files()
for document in ["README.md"] + sorted(path for path in paths if re.fullmatch(r"docs/[\w-]+\.md", path)):
    text = read(document)
    check_links(document, text)
    check_names(document, text, paths)
    if document in TABLES:
        check_table(document, text, paths)
check_passes(paths)
check_commands()
check_environment()
check_version()
check_includes(paths)
check_rooms(paths)
check_attributes(paths)
check_properties(paths)
print("\n".join(wrong))
sys.exit(bool(wrong))
