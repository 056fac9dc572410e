"""Changes of PTX text. Each makes a function from a Program to the changed one; what finds nothing to change is an
error, so that no row of the table is left behind when the code it speaks of changes.

`at` picks one of the lines in which the pattern is found; negative: from the end.
"""
import dataclasses
import re


def _lines(program):
    return program.ptx.split("\n")


def _with(program, lines):
    return dataclasses.replace(program, ptx="\n".join(lines))


def _find(lines, pattern, at):
    found = [i for i, line in enumerate(lines) if re.search(pattern, line) and not line.lstrip().startswith("//")]
    if not -len(found) <= at < len(found):
        raise ValueError(f"no line {at} of those with '{pattern}'")
    return found[at]


def change(pattern, replacement, at=0):
    """Replaces what the pattern matches in one line."""

    def edit(program):
        lines = _lines(program)
        i = _find(lines, pattern, at)
        changed = re.sub(pattern, replacement, lines[i], count=1)
        if changed == lines[i]:
            raise ValueError(f"'{pattern}' is '{replacement}' already")
        lines[i] = changed
        return _with(program, lines)

    return edit


def change_all(pattern, replacement):
    """Replaces what the pattern matches in every line."""

    def edit(program):
        changed, count = re.subn(pattern, replacement, program.ptx)
        if not count:
            raise ValueError(f"no line with '{pattern}'")
        return dataclasses.replace(program, ptx=changed)

    return edit


def remove(pattern, at=0):
    """Takes out the instruction of one line."""

    def edit(program):
        lines = _lines(program)
        del lines[_find(lines, pattern, at)]
        return _with(program, lines)

    return edit


def unguard(pattern, at=0):
    """Takes the predicate off one instruction."""
    return change(r"^(\s*)@!?%\w+\s+(?=" + pattern + ")", r"\1", at)


def guard_like(pattern, other, at=0, other_at=0):
    """Gives one instruction the predicate of another one."""

    def edit(program):
        lines = _lines(program)
        i = _find(lines, pattern, at)
        guard = re.match(r"\s*(@!?%\w+)", lines[_find(lines, r"@.*" + other, other_at)]).group(1)
        lines[i] = f"{guard} {lines[i].strip()}"
        return _with(program, lines)

    return edit


def move(pattern, target, at=0, target_at=0, before=False):
    """Moves an instruction behind another line, or before it."""

    def edit(program):
        lines = _lines(program)
        i, j = _find(lines, pattern, at), _find(lines, target, target_at)
        line = lines.pop(i)
        lines.insert(j - (i < j) + (not before), line)
        return _with(program, lines)

    return edit


def insert(text, target, target_at=0, before=False):
    """Puts instructions behind a line, or before it."""

    def edit(program):
        lines = _lines(program)
        lines.insert(_find(lines, target, target_at) + (not before), text)
        return _with(program, lines)

    return edit


def less_shared(by):
    """Launches with fewer bytes of dynamic shared memory."""
    return lambda program: dataclasses.replace(program, shared=program.shared - by)


def both(*edits):
    def edit(program):
        for one in edits:
            program = one(program)
        return program

    return edit
