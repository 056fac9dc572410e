"""The rows of src/sim/parse/instructions.def and the instruction names each of them accepts."""
import itertools
import os
import re

DEFINITIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/sim/parse/instructions.def")


class Row:
    """A row of the table: `groups` is [(required, [word])], `types` [[type]], `operands` the words of the fourth
    column."""

    def __init__(self, number, fields):
        self.number = number
        self.name, modifiers, types, operands, self.kind, self.function = fields[:6]
        self.groups = [(g.startswith("!"), g.lstrip("!>").split("|")) for g in modifiers.split()]
        self.types = [t.split("|") for t in types.split()]
        self.operands = operands.split()
        self.text = f"{self.name}({modifiers}; {types}; {operands})".replace("; ; ", "; ")

    def words(self):
        """Every choice of modifiers, in the order of the row."""
        return itertools.product(*[words if required else [None] + words for required, words in self.groups])

    def all_types(self):
        return itertools.product(*self.types)

    def form(self, words, types):
        return ".".join([self.name] + [w for w in words if w] + list(types))

    def pairs_of_words(self):
        """Choices of modifiers in which every two words of different groups meet: each with the first word of the
        groups that are required and none of the rest."""
        base = [words[0] if required else None for required, words in self.groups]
        found = {tuple(base): None}
        places = [(g, w) for g, (_, words) in enumerate(self.groups) for w in words]
        for (g, w), (h, v) in itertools.combinations_with_replacement(places, 2):
            if g == h and w != v:
                continue
            choice = list(base)
            choice[g], choice[h] = w, v
            found[tuple(choice)] = None
        return list(found)


def literal(text, macros):
    """The string that a C expression of literals and macros of literals means."""
    parts = re.findall(r'"([^"]*)"|(\w+)', text)
    return "".join(macros[name] if name else quoted for quoted, name in parts)


def split_arguments(text):
    """At the commas outside quotes."""
    return [part.strip() for part in re.findall(r'(?:"[^"]*"|[^,"])+', text)]


def read_rows(path=DEFINITIONS):
    with open(path) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S).replace("\\\n", " ")
    macros, rows = {}, []
    for name, value in re.findall(r"^#define (\w+) (.*)$", text, flags=re.M):
        macros[name] = literal(value, macros)
    for line in re.findall(r"^(?:SCALAR|SCALAR_KNOWN|INSN|INSN_CHECKED)\((.*)\)\s*$", text, flags=re.M):
        fields = split_arguments(line)
        rows.append(Row(len(rows), [fields[0]] + [literal(f, macros) for f in fields[1:4]] + fields[4:]))
    return rows


def fits(row, words):
    """Whether the row takes the words behind its name: modifiers in any order, types in theirs."""
    used, types = set(), 0
    for word in words:
        if types < len(row.types) and word in row.types[types]:
            types += 1
            continue
        place = next((i for i, (_, group) in enumerate(row.groups) if i not in used and word in group), None)
        if place is None:
            return False
        used.add(place)
    return types == len(row.types) and all(i in used for i, (required, _) in enumerate(row.groups) if required)


def row_of(rows, form):
    """The number of the row of an instruction's dotted name; None when there is none."""
    name, *words = form.split(".")
    return next((row.number for row in rows if row.name == name and fits(row, words)), None)
