"""Mistakes that people make, each planted in one statement of a kernel.

A row of MUTATIONS is a name and a function from (KernelText, random.Random) to the mutants it can make of the kernel, each of which has
one mistake. Not every mutant is wrong: what the compiler accepts is not counted."""
import ast
import builtins
import keyword

from kernel_text import KernelText, Mutant, Place, misspelt

PYTHON_NAMES = set(dir(builtins)) | set(keyword.kwlist)


def loads(k):
    """Names that are read, other than modules and functions."""
    return [n for n in k.nodes(ast.Name) if isinstance(n.ctx, ast.Load) and n.id not in ("tl", "triton", "libdevice", "math") and
            n.id not in k.jit and n.id not in PYTHON_NAMES]


def misspelt_name(k, rng):
    return [k.replaced("misspelt_name", n, misspelt(n.id, k.module_names | PYTHON_NAMES, rng)) for n in loads(k)]


def misspelt_builtin(k, rng):
    found = [c.func for c in k.calls() if len(c.func.attr) > 3]
    taken = {c.func.attr for c in k.calls()} | {"dot", "sum", "max", "min", "arange", "range", "abs"}
    return [k.replaced("misspelt_builtin", f, "tl." + misspelt(f.attr, taken, rng)) for f in found]


def misspelt_keyword(k, rng):
    return [k.edited("misspelt_keyword", a, k.offset(a.lineno, a.col_offset), k.offset(a.lineno, a.col_offset) + len(a.arg),
                     misspelt(a.arg, {"axis", "mask", "other", "dtype"}, rng))
            for c in k.calls() for a in c.keywords if a.arg]


def misspelt_function(k, rng):
    return [k.replaced("misspelt_function", c.func, misspelt(c.func.id, k.module_names, rng))
            for c in k.nodes(ast.Call) if isinstance(c.func, ast.Name) and c.func.id in k.jit]


def misspelt_method(k, rng):
    return [k.edited("misspelt_method", c, k.span(c.func)[1] - len(c.func.attr), k.span(c.func)[1], "astype" if c.func.attr == "to" else c.func.attr + "s")
            for c in k.nodes(ast.Call) if isinstance(c.func, ast.Attribute) and not isinstance(c.func.value, ast.Name)]


def misspelt_option(k, rng):
    return [k.replaced("misspelt_option", a.value, "'" + a.value.value + "t'") for c in k.calls("load", "store", "dot", "atomic_add") for a in c.keywords
            if a.arg and isinstance(a.value, ast.Constant) and isinstance(a.value.value, str) and a.value.value]


def dropped_tl(k, rng):
    return [k.replaced("dropped_tl", c.func, c.func.attr) for c in k.calls() if c.func.attr not in PYTHON_NAMES and c.func.attr not in k.module_names]


def other_library(k, rng):
    found = [c for c in k.calls("exp", "sqrt", "maximum", "minimum", "where", "sum", "max", "zeros", "arange", "exp2", "log")]
    return [k.replaced("other_library", c.func, rng.choice(("torch.", "np.")) + c.func.attr) for c in found]


def missing_argument(k, rng):
    wanted = {"arange": 2, "store": 2, "where": 3, "maximum": 2, "minimum": 2, "dot": 2, "zeros": 2, "full": 3, "program_id": 1, "load": 1, "cdiv": 2}
    mutants = []
    for c in k.calls(*wanted):
        if len(c.args) == wanted[c.func.attr] and not c.keywords:
            lo = k.span(c.args[-2])[1] if len(c.args) > 1 else k.span(c.args[-1])[0]
            mutants.append(k.edited("missing_argument", c, lo, k.span(c.args[-1])[1], ""))
    return mutants


def extra_argument(k, rng):
    return [k.edited("extra_argument", c, k.span(c.args[-1])[1], k.span(c.args[-1])[1], ", 3") for c in
            k.calls("arange", "program_id", "num_programs", "exp", "exp2", "log", "sqrt", "zeros_like", "trans", "where") if c.args and not c.keywords]


def helper_arguments(k, rng):
    mutants = []
    for c in k.nodes(ast.Call):
        if isinstance(c.func, ast.Name) and c.func.id in k.jit and len(c.args) > 1 and not c.keywords:
            mutants.append(k.edited("helper_arguments", c, k.span(c.args[-2])[1], k.span(c.args[-1])[1], ""))
            mutants.append(k.edited("helper_arguments", c, k.span(c.args[-1])[1], k.span(c.args[-1])[1], ", 1" * 20))
    return mutants


def wrong_dtype(k, rng):
    names = {"float32": ("fp32", "float"), "float16": ("half", "fp16"), "int32": ("int", "i32"), "int64": ("long", "i64"), "bfloat16": ("bf16",)}
    return [k.replaced("wrong_dtype", n, "tl." + rng.choice(names[n.attr])) for n in k.nodes(ast.Attribute)
            if isinstance(n.value, ast.Name) and n.value.id == "tl" and n.attr in names]


def wrong_axis(k, rng):
    mutants = []
    for c in k.calls("sum", "max", "min", "cumsum", "argmax", "reduce"):
        axes = [a.value for a in c.keywords if a.arg == "axis"] + c.args[1:2]
        mutants += [k.replaced("wrong_axis", a, "2") for a in axes if isinstance(a, ast.Constant) and isinstance(a.value, int)]
    return mutants + [k.replaced("wrong_axis", c.args[0], "3") for c in k.calls("program_id", "num_programs") if c.args]


def mask_parentheses(k, rng):
    mutants = []
    for n in k.nodes(ast.BinOp):  # in one line: the text within brackets may have more
        if n.lineno == n.end_lineno and isinstance(n.op, (ast.BitAnd, ast.BitOr)) and isinstance(n.left, ast.Compare) and isinstance(n.right, ast.Compare):
            sign = " & " if isinstance(n.op, ast.BitAnd) else " | "
            mutants.append(k.edited("mask_parentheses", n, *k.span(n), k.source(n.left) + sign + k.source(n.right)))
    return mutants


def python_and(k, rng):
    """`not` and `and` where a tile of booleans is meant to be a condition."""
    return [k.inserted_before("condition_of_tile", c, f"if {k.source(a.value)}: pass") for c in k.calls("load", "store") for a in c.keywords if a.arg == "mask"]


def runtime_arange(k, rng):
    return [k.replaced("runtime_arange", c.args[1], rng.choice(k.ints)) for c in k.calls("arange") if len(c.args) == 2 and k.ints and
            k.function_of(c).name == k.kernel]


def runtime_shape(k, rng):
    mutants = []
    for c in k.calls("zeros", "full"):
        if c.args and isinstance(c.args[0], (ast.Tuple, ast.List)) and c.args[0].elts and k.ints and k.function_of(c).name == k.kernel:
            mutants.append(k.replaced("runtime_shape", c.args[0].elts[0], rng.choice(k.ints)))
    return mutants


def arange_size(k, rng):
    return [k.replaced("arange_size", c.args[1], rng.choice(("100", k.source(c.args[1]) + " - 1", k.source(c.args[1]) + " * 3"))) for c in k.calls("arange")
            if len(c.args) == 2]


def loop_type(k, rng):
    mutants = []
    for n in k.nodes(ast.AugAssign):
        if k.in_loop(n) and isinstance(n.target, ast.Name) and isinstance(n.op, ast.Add):
            name, value = n.target.id, k.source(n.value)
            mutants.append(k.replaced("loop_type", n, f"{name} = ({name} + ({value})).to(tl.int8)"))
    return mutants


def loop_shape(k, rng):
    return [k.replaced("loop_shape", n, f"{n.target.id} = tl.zeros((2, 2), dtype=tl.float32)") for n in k.nodes(ast.AugAssign)
            if k.in_loop(n) and isinstance(n.target, ast.Name)]


def defined_later(k, rng):
    """A name whose only assignment comes after its use."""
    mutants = []
    for n in loads(k):
        function = k.function_of(n)
        parameters = {a.arg for a in function.args.args}
        stores = {}
        for s in ast.walk(function):
            if isinstance(s, ast.Name) and isinstance(s.ctx, ast.Store):
                stores.setdefault(s.id, []).append(s.lineno)
        later = sorted(name for name, lines in stores.items() if min(lines) > k.statement(n).end_lineno and name not in parameters)
        if later and not k.in_loop(n):
            mutants.append(k.replaced("defined_later", n, rng.choice(later)))
    return mutants


def simple_statements(k):
    return [n for n in k.nodes(ast.Assign, ast.AugAssign, ast.Expr) if k.source(n).count('"""') == 0]


def indented(k, rng):
    return [k.reindented("indented", n, 2) for n in simple_statements(k)]


def dedented(k, rng):
    return [k.reindented("dedented", n, -2) for n in simple_statements(k) if k.parents[n].body and k.parents[n].body[0] is not n]


def unclosed(k, rng):
    mutants = []
    for n in simple_statements(k):
        lo, hi = k.span(n)
        if k.text[hi - 1:hi] in (b")", b"]"):
            mutants.append(k.edited("unclosed", n, hi - 1, hi, ""))
    return mutants


def unopened(k, rng):
    return [k.edited("unopened", n, k.span(n)[1], k.span(n)[1], ")") for n in simple_statements(k)]


def bracket_kind(k, rng):
    return [k.edited("bracket_kind", c, k.span(c)[1] - 1, k.span(c)[1], "]") for c in k.calls()]


def subscripted_call(k, rng):
    return [k.replaced("subscripted_call", c, k.source(c.func) + "[" + ", ".join(k.source(a) for a in c.args) + "]") for c in k.calls() if c.args and not c.keywords]


def missing_comma(k, rng):
    mutants = []
    for c in k.calls():
        if len(c.args) > 1:
            lo, hi = k.span(c.args[0])[1], k.span(c.args[1])[0]
            mutants.append(k.edited("missing_comma", c, lo, hi, " "))
    return mutants


def missing_operator(k, rng):
    return [k.edited("missing_operator", n, k.span(n.left)[1], k.span(n.right)[0], " ") for n in k.nodes(ast.BinOp)
            if isinstance(n.left, ast.Name) and isinstance(n.right, (ast.Name, ast.Constant))]


def doubled_operator(k, rng):
    return [k.edited("doubled_operator", n, k.span(n.left)[1], k.span(n.right)[0], rng.choice((" && ", " || ", " */ ", " =+ "))) for n in k.nodes(ast.BinOp)
            if isinstance(n.left, ast.Name) and isinstance(n.right, ast.Name)]


def header_colon(k, rng):
    mutants = []
    for n in k.nodes(ast.For, ast.If, ast.While):
        end = k.span(n.iter if isinstance(n, ast.For) else n.test)[1]
        colon = k.text.find(b":", end)
        if k.text[end:colon].strip() in (b"", b")") and n.body[0].lineno > n.lineno:
            mutants.append(k.edited("header_colon", n, colon, colon + 1, ""))
    return mutants


def assigned_condition(k, rng):
    return [k.edited("assigned_condition", n, k.span(n.test.left)[1], k.span(n.test.comparators[0])[0], " = ") for n in k.nodes(ast.If)
            if isinstance(n.test, ast.Compare) and len(n.test.ops) == 1]


def header_brace(k, rng):
    return [k.edited("header_brace", n, k.span(n.test)[0], k.span(n.test)[1], "(" + k.source(n.test) + ") then") for n in k.nodes(ast.If)]


def unclosed_string(k, rng):
    return [k.edited("unclosed_string", n, k.span(n)[1] - 1, k.span(n)[1], "") for n in k.nodes(ast.Constant)
            if isinstance(n.value, str) and k.source(n)[0] in "'\"" and not k.source(n).startswith('"""')]


def number_suffix(k, rng):
    return [k.edited("number_suffix", n, k.span(n)[1], k.span(n)[1], "f") for n in k.nodes(ast.Constant) if isinstance(n.value, float)]


def float_offset(k, rng):
    mutants = []
    for c in k.calls("load", "store"):
        if c.args and isinstance(c.args[0], ast.BinOp) and isinstance(c.args[0].op, ast.Add):
            mutants.append(k.replaced("float_offset", c.args[0].right, f"({k.source(c.args[0].right)}) / 2"))
    return mutants


def added_pointers(k, rng):
    mutants = []
    for c in k.calls("load", "store"):
        if c.args and isinstance(c.args[0], ast.BinOp) and k.pointers and k.function_of(c).name == k.kernel:
            mutants.append(k.replaced("added_pointers", c.args[0].right, rng.choice(k.pointers)))
    return mutants


def loaded_int(k, rng):
    mutants = []
    for c in k.calls("load", "store"):
        if c.args and isinstance(c.args[0], ast.BinOp) and k.ints and k.function_of(c).name == k.kernel:
            mutants.append(k.replaced("loaded_int", c.args[0], k.source(c.args[0].right)))
    return mutants


def store_order(k, rng):
    return [k.edited("store_order", c, k.span(c.args[0])[0], k.span(c.args[1])[1], k.source(c.args[1]) + ", " + k.source(c.args[0]))
            for c in k.calls("store") if len(c.args) >= 2]


def dot_operands(k, rng):
    mutants = []
    for c in k.calls("dot"):
        if len(c.args) >= 2:
            mutants.append(k.replaced("dot_operands", c.args[1], f"tl.trans({k.source(c.args[1])})"))
            mutants.append(k.replaced("dot_operands", c.args[0], f"tl.trans({k.source(c.args[0])})"))
            mutants.append(k.replaced("dot_operands", c.args[1], f"({k.source(c.args[1])}).to(tl.float64)"))
    return mutants


def mask_shape(k, rng):
    return [k.replaced("mask_shape", a.value, f"({k.source(a.value)})[:, None]") for c in k.calls("load", "store") for a in c.keywords if a.arg == "mask"]


def mask_type(k, rng):
    return [k.replaced("mask_type", a.value, f"({k.source(a.value)}).to(tl.float32)") for c in k.calls("load", "store") for a in c.keywords if a.arg == "mask"]


def value_shape(k, rng):
    return [k.replaced("value_shape", c.args[1], f"tl.zeros((2, 2, 2), tl.float32) + {k.source(c.args[1])}") for c in k.calls("store") if len(c.args) > 1]


def operand_shape(k, rng):
    """A tile of a size that goes with none."""
    return [k.replaced("operand_shape", n.right, f"({k.source(n.right)} + tl.arange(0, 512)[None, None, :])") for n in k.nodes(ast.BinOp)
            if isinstance(n.op, (ast.Mult, ast.Add)) and isinstance(n.right, ast.Subscript)]


def block_size(k, rng):
    """tl.arange over another constexpr: shapes differ where they meet."""
    mutants = []
    for c in k.calls("arange"):
        if len(c.args) == 2 and isinstance(c.args[1], ast.Name):
            others = [n for n in k.constexprs if n != c.args[1].id and n.startswith("BLOCK")]
            mutants += [k.replaced("block_size", c.args[1], rng.choice(others))] if others else []
    return mutants


def other_without_mask(k, rng):
    mutants = []
    for c in k.calls("load"):
        names = [a.arg for a in c.keywords]
        if names[:2] == ["mask", "other"]:
            lo, hi = k.offset(c.keywords[0].lineno, c.keywords[0].col_offset), k.offset(c.keywords[1].lineno, c.keywords[1].col_offset)
            mutants.append(k.edited("other_without_mask", c, lo, hi, ""))
    return mutants


def doubled_keyword(k, rng):
    return [k.edited("doubled_keyword", c, k.span(c.keywords[-1].value)[1], k.span(c.keywords[-1].value)[1], f", {c.keywords[-1].arg}=None")
            for c in k.calls() if c.keywords and c.keywords[-1].arg]


def keyword_first(k, rng):
    return [k.edited("keyword_first", c, k.span(c.args[0])[0], k.span(c.args[0])[0], "mask=None, ") for c in k.calls("load", "store") if c.args]


def power(k, rng):
    return [k.replaced("power", n, f"{k.source(n.left)} ** 2") for n in k.nodes(ast.BinOp)
            if isinstance(n.op, ast.Mult) and isinstance(n.left, ast.Name) and isinstance(n.right, ast.Name) and n.left.id == n.right.id]


def loop_exit(k, rng):
    mutants = []
    for n in k.nodes(ast.For):
        iterated = k.source(n.iter)
        if "static_range" not in iterated:
            for word in ("break", "continue", "return"):
                mutants.append(k.inserted_before("loop_exit", n.body[0], word))
    return mutants


def statements_refused(k, rng):
    lines = ("import torch", "assert_x = lambda x: x + 1", "numbers = [i for i in range(4)]", "del tl", "global counter",
             "with open('f') as f: pass", "yield 1", "raise ValueError('x')", "print 'x'", "x = {'a': 1}", "a, b = 1, 2, 3", "x = 1 // 0")
    return [k.inserted_before("statement_refused", n, rng.choice(lines)) for n in simple_statements(k)]


def element(k, rng):
    return [k.edited("element", c, k.span(c)[1], k.span(c)[1], rng.choice(("[0]", "[0:2]", "[1, 2]"))) for c in k.calls("load", "arange", "zeros") if
            k.source(k.statement(c)).endswith(k.source(c))]


def unpacked(k, rng):
    return [k.edited("unpacked", n, *k.span(n.targets[0]), k.source(n.targets[0]) + ", rest") for n in k.nodes(ast.Assign)
            if len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)]


def missing_return(k, rng):
    return [k.replaced("missing_return", n, "return") for n in k.nodes(ast.Return) if n.value]


def integer_function(k, rng):
    return [k.replaced("integer_function", c.args[0], f"({k.source(c.args[0])}).to(tl.int32)") for c in k.calls("exp", "exp2", "log", "sqrt", "sigmoid") if c.args]


def missing_import(k, rng):
    """Said where the name is used first, be that the kernel's header."""
    uses = [(f, n) for f in k.reached if f.name == k.kernel for part in (f.args, *f.body) for n in ast.walk(part) if isinstance(n, ast.Name) and n.id == "tl"]
    mutants = []
    for n in k.tree.body:
        if uses and isinstance(n, ast.Import) and k.source(n) == "import triton.language as tl":
            lo, hi = k.span(n)
            function, use = uses[0]
            place = Place(function.lineno, function.body[0].lineno - 1) if use.lineno < function.body[0].lineno else k.place(use)
            mutants.append(Mutant("missing_import", place, (k.text[:lo] + b"pass" + k.text[hi:]).decode()))
    return mutants


MUTATIONS = [misspelt_name, misspelt_builtin, misspelt_keyword, misspelt_function, misspelt_method, misspelt_option, dropped_tl, other_library,
             missing_argument, extra_argument, helper_arguments, wrong_dtype, wrong_axis, mask_parentheses, python_and, runtime_arange, runtime_shape,
             arange_size, loop_type, loop_shape, defined_later, indented, dedented, unclosed, unopened, bracket_kind, subscripted_call, missing_comma,
             missing_operator, doubled_operator, header_colon, assigned_condition, header_brace, unclosed_string, number_suffix, float_offset,
             added_pointers, loaded_int, store_order, dot_operands, mask_shape, mask_type, value_shape, operand_shape, block_size, other_without_mask,
             doubled_keyword, keyword_first, power, loop_exit, statements_refused, element, unpacked, missing_return, integer_function, missing_import]


def mutants_of(kernel: KernelText, rng, most):
    """Up to `most` mutants, one of each kind first, the kinds in an order that `rng` chooses."""
    kinds = [make(kernel, rng) for make in rng.sample(MUTATIONS, len(MUTATIONS))]
    chosen = []
    while len(chosen) < most and any(kinds):
        for made in kinds:
            if made and len(chosen) < most:
                chosen.append(made.pop(rng.randrange(len(made))))
    return chosen
