"""Probes of instructions that each thread executes alone: made from the rows of the table, every choice of modifiers
and types. A thread loads its operands, applies the instruction and stores the result."""
from operands import BITS, PAIRS, draw
from probe import THREAD, Array, Check, Probe, declare, kernel, load_word, narrow, store_word, thread_number, widen

EXECUTORS = ("SCALAR", "exec_logic", "exec_setp", "exec_setp_pair", "exec_selp", "exec_cvt_int")
ELSEWHERE = ("cvta", "isspacep", "createpolicy")  # need addresses: special.py
COUNTED = {"shl", "shr", "shf", "bfe", "bfi", "szext", "bmsk"}
BLOCK = 256

APPROXIMATE = ("div.approx", "div.full", "rcp.approx", "sqrt.approx", "rsqrt.approx", "sin.approx", "cos.approx", "lg2.approx",
               "ex2.approx", "tanh.approx")


def is_scalar(row):
    executor = row.function if row.function.startswith("exec_") else "SCALAR"
    return executor in EXECUTORS and row.name not in ELSEWHERE


def operand_type(token, types):
    """The type that a word of the operand column names."""
    token = token.lstrip("=")
    if token == "w":
        return types[0][0] + str(2 * BITS[types[0]])
    if token.startswith("r"):
        return types[int(token[1])]
    return types[int(token)] if token.isdigit() else token


def role_of(name, token, place):
    if token == "u32":
        return {"prmt": "selector"}.get(name, "count" if name in COUNTED else "")
    return {1: "base", 2: "position"}.get(place, "") if name == "fns" else ""


def specified(name, types, role):
    """The role of operands whose values the PTX ISA restricts. bfe and bfi: 0 to 255; the instructions of 32 bits
    read 8 bits of others too, the sequences that ptxas makes for 64 bits do not."""
    return "byte" if name in ("bfe", "bfi") and BITS[types[0]] == 64 and role == "count" else role


def group_of(row, form, result):
    if form.startswith(APPROXIMATE):
        return "approximate functions"
    return {"INTEGER": "integer", "FLOAT": "float, single", "DOUBLE": "float, double", "HALF": "float, half",
            "SPECIAL": "division and roots", "PREDICATE": "comparison and selection", "CONVERT": "conversions"}.get(
        row.kind, "integer")


def rule_of(form):
    return form.split(".")[0] + "." + form.split(".")[1] if form.startswith(APPROXIMATE) else "exact"


def inputs_for(types, roles):
    if len(types) == 1:
        return draw(types, roles, 16384)
    return draw(types, roles, 8192)


def show(columns, types):
    def text(index):
        return ", ".join(f"{int(column[index]):#x}" for column in columns)
    return text


def scalar_probe(row, form, types, wide=False, second=False, immediate=None):
    """`wide`: integers in 64-bit registers where the row allows; `second`: with the second predicate;
    `immediate`: the value of the last operand."""
    sources, declarations, body, registers = [], list(THREAD), thread_number(), []
    for token in row.operands:
        dtype = operand_type(token.split("|")[0], types)
        bits = max(BITS[dtype], 16) if BITS[dtype] > 1 else 1
        if token.lstrip("=") in ("r0", "r1"):
            bits = 64 if wide else 32 if BITS[dtype] == 8 else bits
        if token.startswith("="):
            result = (dtype, bits)
            declarations.append(declare("%y", bits))
        else:
            sources.append((dtype, bits, specified(row.name, types, role_of(row.name, token, len(sources)))))
    if immediate is not None:
        sources.pop()
    drawn = tuple(("b64" if wide else s[0]) for s in sources)
    columns = inputs_for(drawn, tuple(s[2] for s in sources))
    count = len(columns[0])
    for i, (_, bits, _) in enumerate(sources):
        declarations.append(declare(f"%x{i}", bits))
        body += load_word(f"in{i}") + narrow(f"%x{i}", bits)
        registers.append(f"%x{i}")
    if immediate is not None:
        registers.append(str(immediate))
    if second:
        declarations.append(".reg .pred %q;")
    body += [f"{form} %y{'|%q' if second else ''}, {', '.join(registers)};"]
    body += widen("%y", result[1]) + store_word(0, count)
    if second:
        body += widen("%q", 1) + store_word(1, count)
    params = [f"in{i}" for i in range(len(sources))] + ["out"]
    args = [Array("in", column) for column in columns] + [Array("out", size=8 * count * (2 if second else 1))]
    name = form + (" (64-bit registers)" if wide else " d|q" if second else "") + \
        (f" {immediate:#x}" if immediate is not None else "")
    check = Check(dtype=result[0], rule=rule_of(form), operands=show(columns, drawn), inputs=columns)
    return Probe(group_of(row, form, result), name, kernel(params, declarations, body), args, [check],
                 grid=count // BLOCK, block=BLOCK, row=row.number)


def integer_widths(row, types):
    return any(t.lstrip("=") in ("r0", "r1") for t in row.operands) and all(t[0] in "us" for t in types)


def scalar_probes(rows):
    for row in filter(is_scalar, rows):
        for words in row.words():
            for types in row.all_types():
                form = row.form(words, types)
                if row.name == "lop3":
                    for table in range(0, 256):
                        yield scalar_probe(row, form, types, immediate=table)
                    continue
                if "=pred|p" not in row.operands or types[0] not in PAIRS:
                    yield scalar_probe(row, form, types)
                if "=pred|p" in row.operands:
                    yield scalar_probe(row, form, types, second=True)
                if integer_widths(row, types):
                    yield scalar_probe(row, form, types, wide=True)


def carry_probe(row, form, types):
    """A chain: the instruction between one that sets the carry and one that adds it."""
    dtype = types[0]
    bits, signed = BITS[dtype], dtype
    multiply = row.name in ("mad", "madc")
    names = ["a", "b", "c"] if multiply else ["a", "b"]
    first = [f"sub.cc.{signed} %s, %x0, %x1;" if row.name == "subc" else f"add.cc.{signed} %s, %x0, %x1;"]
    columns = draw((dtype,) * (len(names) + 2), ("",) * (len(names) + 2), 4096)
    declarations = list(THREAD) + [declare(f"%x{i}", bits) for i in range(len(columns))]
    declarations += [declare(r, bits) for r in ("%s", "%y", "%z", "%t")]
    body = thread_number()
    for i in range(len(columns)):
        body += load_word(f"in{i}") + narrow(f"%x{i}", bits)
    takes = row.name in ("addc", "subc", "madc")
    body += first if takes else []
    body += [f"{form} %y, {', '.join(f'%x{2 + i}' for i in range(len(names)))};"]
    body += [f"{'subc' if row.name in ('sub', 'subc') else 'addc'}.{signed} %z, %x0, %x1;"] if ".cc" in form else ["mov.b%d %%z, %%y;" % bits]
    body += widen("%y", bits) + store_word(0, 4096) + widen("%z", bits) + store_word(1, 4096)
    params = [f"in{i}" for i in range(len(columns))] + ["out"]
    check = Check(dtype=dtype, operands=show(columns, None), inputs=columns)
    return Probe("integer", form, kernel(params, declarations, body),
                 [Array("in", c) for c in columns] + [Array("out", size=8 * 4096 * 2)], [check], grid=16, block=BLOCK,
                 row=row.number)


def carry_probes(rows):
    for row in rows:
        if row.function == "exec_carry":
            for words in row.words():
                for types in row.all_types():
                    yield carry_probe(row, row.form(words, types), types)
