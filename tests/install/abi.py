"""abi.py HEADER LIBRARY COMPILER RECORD [--update]: what programs that were linked with the library rely on is as RECORD has it: its soname, exported
symbols with their versions, prototypes, sizes and offsets of structs, values of enumerators.

A difference fails: one that only adds (functions, enumerators, fields behind the last one of a struct that begins with its size) asks for --update, any
other for a new soname. While the record says `unreleased`, no program relies on it, and --update takes every change."""
import os
import re
import subprocess
import sys
import tempfile

HEADER, LIBRARY, COMPILER, RECORD = sys.argv[1:5]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fields(body):
    """Names of the fields of a struct, in order; those of unions within it as one."""
    body = re.sub(r"\{[^{}]*\}", "", body)
    return [re.search(r"(\w+)\s*(?:\[[^]]*\])?$", part.strip()).group(1) for line in body.split(";") if line.strip() for part in line.split(",")]


def layout(text):
    """Lines on structs and enumerators, printed by a program that the compiler compiled."""
    prints = []
    for name, body in re.findall(r"typedef struct (tile_\w+) \{((?:[^{}]|\{[^{}]*\})*)\} \1;", text):
        names = fields(body)
        grows = "grows" if names[0] == "size" else "fixed"
        prints.append(f'printf("struct {name} {grows}: %zu bytes\\n", sizeof({name}));')
        prints += [f'printf("field {name}.{field}: %zu bytes at %zu\\n", sizeof((({name} *)0)->{field}), offsetof({name}, {field}));' for field in names]
    for body in re.findall(r"\benum (?:\w+ )?\{([^{}]*)\}", text):
        prints += [f'printf("enumerator {name} = %d\\n", (int){name});' for name in re.findall(r"\b(TILE_\w+)\b", body)]
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w", encoding="ascii") as file:
            file.write(f'#include <stdio.h>\n#include "{os.path.abspath(HEADER)}"\nint main(void) {{\n' + "\n".join(prints) + "\nreturn 0;\n}\n")
        subprocess.run([COMPILER, "-std=c11", source, "-o", program], check=True)
        return output(program).splitlines()


def found():
    text = re.sub(r"\s+", " ", output(COMPILER, "-std=c11", "-E", "-P", HEADER))
    prototypes = re.findall(r'__attribute__\(\(visibility\("default"\)\)\) ([^;{]*\btile_\w+\([^;{]*\));', text)
    symbols = [line.split()[2] for line in output("nm", "-D", "--defined-only", "--with-symbol-versions", LIBRARY).splitlines()]
    return [f"symbol {symbol}" for symbol in sorted(symbols) if symbol.startswith("tile_")] + [f"function {text}" for text in prototypes] + layout(text)


def breaks(old, new):
    """Lines that a program relies on and that are no longer so. A struct that begins with its size may become larger by fields behind."""
    growing = {match[1] for match in (re.match(r"struct (\w+) grows", line) for line in old) if match}
    return [line for line in old if line not in new and not any(line.startswith(f"struct {name} grows") for name in growing)]


soname = re.search(r"SONAME +(\S+)", output("objdump", "-p", LIBRARY)).group(1)
with open(RECORD, encoding="ascii") as file:
    head, *old = file.read().splitlines()
new = found()
compatible = head.split()[0] != soname or not breaks(old, new)
if "--update" in sys.argv[5:]:
    if not compatible and "unreleased" not in head:
        sys.exit(f"{soname} is released: a change that programs notice needs a new soname, that is another version in CMakeLists.txt")
    with open(RECORD, "w", encoding="ascii") as file:
        file.write("\n".join([head if head.split()[0] == soname else f"{soname} unreleased", *new]) + "\n")
elif head.split()[0] != soname or old != new:
    print("\n".join([f"- {line}" for line in [head.split()[0], *old] if line not in [soname, *new]] + [f"+ {line}" for line in [soname, *new] if line not in [head.split()[0], *old]]))
    print(f"{'compatible' if compatible else 'incompatible'} with {RECORD}: if it is meant, the same command with --update (docs/building.md, \"Versions\")")
    sys.exit(1)
else:
    print(f"{soname}: {len(new)} lines as recorded")
