"""features.py TILEC: what the server says of kernels: diagnostics, hover, hints, completion, signatures, places of names, fixes."""
import os
import sys
import tempfile
import time

import client

TILEC = sys.argv[1]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEAD = "import triton\nimport triton.language as tl\n\n\n"


def start(**options):
    s = client.Server([TILEC, "lsp"])
    s.initialize(**options)
    return s


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def opened(s, text, path="/nowhere/kernel.tile", utf8=True):
    document = client.Document(s, path, text, utf8)
    return document, document.diagnostics()


def whole(document):
    return {"textDocument": {"uri": document.uri}, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 100000, "character": 0}}}


def hints(document):
    """name -> label"""
    found = {}
    for hint in document.server.ask("textDocument/inlayHint", whole(document)):
        at = document.offset(hint["position"])
        begin = at
        while document.text[begin - 1].isidentifier() or document.text[begin - 1].isdigit():
            begin -= 1
        found.setdefault(document.text[begin:at], hint["label"])
    return found


def labels(document, needle, behind, nth=0):
    result = document.server.ask("textDocument/completion", document.at(needle, behind, nth))
    return {} if result is None else {item["label"]: item for item in result["items"]}


def apply_fix(document, diagnostic, title=None):
    """Applies the fix of a diagnostic, the only one or that with the title."""
    params = {"textDocument": {"uri": document.uri}, "range": diagnostic["range"], "context": {"diagnostics": [diagnostic]}}
    fixes = document.server.ask("textDocument/codeAction", params)
    fixes = [fix for fix in fixes if diagnostic in fix["diagnostics"] and (title is None or title in fix["title"])]
    assert len(fixes) == 1, fixes
    assert fixes[0]["kind"] == "quickfix"
    edits = fixes[0]["edit"]["changes"][document.uri]
    document.change(*[(document.offset(e["range"]["start"]), document.offset(e["range"]["end"]), e["newText"]) for e in edits])


SOFTMAX = read("kernels/softmax.tile").replace("@triton.jit", '# tilec: -s "*fp32, *fp32, i32, i32, i32, 1024" -t sm_90a\n@triton.jit')


def test_diagnostics():
    s = start()
    document, said = opened(s, SOFTMAX)
    assert said == []
    document.replace("tl.exp(x", "tl.expp(x")
    (d,) = document.diagnostics()
    assert (d["code"], d["severity"], d["source"]) == ("elab_module_name", 1, "tilec")
    assert document.part(d["range"]) == "expp" and "did you mean `exp`?" in d["message"]
    document.replace("tl.expp(x", "tl.exp(x")
    assert document.diagnostics() == []
    document.replace("mask = offsets < cols", "mask = offsets < (cols")
    assert [d["code"] for d in document.diagnostics()] == ["lex_unclosed_bracket"]
    document.set(SOFTMAX.replace(" -t sm_90a", " -t sm_9"))
    (d,) = document.diagnostics()
    assert d["code"] == "target_unknown" and document.part(d["range"]) == "softmax"
    document.set(SOFTMAX.replace(" -t sm_90a", " --nothing"))
    (d,) = document.diagnostics()
    assert d["code"] == "comment_option" and document.part(d["range"]) == "--nothing"
    document.set(SOFTMAX.replace(" -t sm_90a", " -D BLOCK"))
    assert [d["code"] for d in document.diagnostics()] == ["comment_value"]
    document.set(SOFTMAX.replace("1024", "1000"))
    (d,) = document.diagnostics()
    assert document.part(d["range"]) == "tl.arange(0, BLOCK)" and d["severity"] == 1
    document.close()
    s.wait(lambda: True if any(m["params"]["diagnostics"] == [] and "version" not in m["params"] for m in s.notifications) else None)
    assert s.end() == (0, "")


def test_warnings():
    """Lint, its place in a helper and how one gets there, what is turned off, tags."""
    s = start()
    text = HEAD + '''@triton.jit
def load_all(p, n, N: tl.constexpr):
    i = tl.arange(0, N)
    return tl.load(p + i, mask=i < n)


# tilec: -s "*fp32, *fp32, i32, 128"
@triton.jit
def total(p, q, n, N: tl.constexpr):
    x = load_all(p, n, N)
    tl.store(q, tl.sum(x, axis=0))
'''
    document, said = opened(s, text)
    assert [(d["code"], d["severity"]) for d in said] == [("undefined_elements", 2)], said
    assert "relatedInformation" not in said[0] or all(r["location"]["uri"] == document.uri for r in said[0]["relatedInformation"])
    s.tell("workspace/didChangeConfiguration", {"settings": {"tilec": {"warnings": ["no-undefined_elements"]}}})
    document.set(text + "\n")
    assert document.diagnostics() == []
    document.set(text.replace("load_all(p, n, N)\n    tl", "load_all(p, n, 100)\n    tl"))
    (d,) = document.diagnostics()
    assert document.part(d["range"]) == "tl.arange(0, N)" and d["severity"] == 1, d
    related = [document.part(r["location"]["range"]) for r in d["relatedInformation"]]
    assert "load_all(p, n, 100)" in related, related
    decorated = text.replace("@triton.jit\ndef total", "@triton.jit(noinline=True)\ndef total")
    document.set(decorated)
    (d,) = document.diagnostics()
    assert (d["severity"], d["tags"]) == (3, [1])
    assert s.end() == (0, "")


def test_types():
    """Where the types of a kernel come from: annotations, settings, the configurations of autotune."""
    s = start(options={"signatures": {"copy": "*fp16, *fp16, 256"}, "target": "sm_80"})
    text = HEAD + '''@triton.jit
def copy(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + i, tl.load(p + i))


@triton.autotune(configs=[triton.Config({"N": 512}, num_warps=8), triton.Config({"N": 64})], key=["n"])
@triton.jit
def tuned(p: "*i32", n: tl.int32, N: tl.constexpr):
    j = tl.arange(0, N)
    tl.store(p + j, j, mask=j < n)


@triton.jit
def unknown(p, N: tl.constexpr):
    k = tl.arange(0, N)
    tl.store(p + k, k)
'''
    document, said = opened(s, text)
    assert said == [], said
    assert hints(document) == {"i": ": i32[256]", "j": ": i32[512]"}, hints(document)
    assert "parameter of unknown" in document.hover("p + k")
    assert "tl.store(pointer, value" in document.hover("tl.store(p + k", 4)
    s.tell("workspace/didChangeConfiguration", {"settings": {"signatures": {"unknown": "*i32, 32"}}})
    document.set(text + "\n")
    assert document.diagnostics() == []
    assert hints(document) == {"j": ": i32[512]", "k": ": i32[32]"}
    assert s.end() == (0, "")


def test_hover():
    s = start()
    document, _ = opened(s, SOFTMAX)
    assert "x: fp32[1024]" in document.hover("x = tl.load") and "4096 bytes" in document.hover("x = tl.load")
    assert "BLOCK: constexpr = 1024" in document.hover("BLOCK)", 2)
    assert "cols: i32" in document.hover("cols\n    x")
    assert "x_ptr: *fp32" in document.hover("x_ptr, y_ptr, x_stride")
    assert "mask: i1[1024]" in document.hover("mask = ")
    text = document.hover("tl.max(x", 4)
    assert "tl.max(" in text and "fp32" in text
    assert "module triton.language" in document.hover("tl.max(x")
    assert "constexpr = float('-inf')" in document.hover('-float("inf")')
    assert "type = tl.float32" in document.hover("tl.float32", 4)
    assert document.hover("Softmax of each row") is None
    result = s.ask("textDocument/hover", document.at("x = tl.load"))
    assert document.part(result["range"]) == "x"
    # An analysis that fails half way: what came before the error, and behind it what was known.
    document.replace("e = tl.exp", "e = nothing + tl.exp")
    assert document.diagnostics()
    assert "x: fp32[1024]" in document.hover("x = tl.load")
    assert "y: fp32[1024]" in document.hover("y = e /")
    document.replace("row = tl.program_id(0)", "row = tl.program_id((")
    assert "y: fp32[1024]" in document.hover("y = e /")
    assert "tl.max(" in document.hover("tl.max(x", 4)
    plain = client.Server([TILEC, "lsp"])
    plain.initialize(hover={"contentFormat": ["plaintext"]})
    other, _ = opened(plain, SOFTMAX)
    assert "```" not in other.hover("x = tl.load") and "x: fp32[1024]" in other.hover("x = tl.load")
    assert plain.end() == (0, "") and s.end() == (0, "")


def test_helpers():
    """Helpers: their own words, what they are called with, from other files as the editor has them."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "lib.tile"), "w", encoding="utf-8") as file:
            file.write(HEAD + "@triton.jit\ndef twice(x):\n    return x + x\n")
        s = start()
        text = HEAD + '''import lib as other
from lib import twice


@triton.jit
def halve(v, by: tl.constexpr = 2):
    """Half of a tile.

    Or another part."""
    part = v / by
    return part


# tilec: -s "*fp32, 128"
@triton.jit
def kernel(p, N: tl.constexpr):
    i = tl.arange(0, N)
    a = halve(tl.load(p + i))
    b = halve(1.0 * i[:, None] + i[None, :])
    c = twice(a)
    d = other.twice(i)
    tl.store(p + i, c + d + tl.sum(b, axis=0))
'''
        document, said = opened(s, text, os.path.join(folder, "kernel.tile"))
        assert said == [], said
        text = document.hover("halve(tl.load", 2)
        assert "def halve(v, by: tl.constexpr = 2)" in text and "Half of a tile.\n\nOr another part." in text and "fp32[128]" in text
        text = document.hover("part = v")
        assert "fp32[128]" in text and "fp32[128, 128]" in text and "in kernel" in text
        place = s.ask("textDocument/definition", document.at("twice(a)", 3))
        assert place["uri"].endswith("/lib.tile") and place["range"]["start"] == {"line": 5, "character": 4}, place
        assert s.ask("textDocument/definition", document.at("twice(i)", 1)) == place
        assert s.ask("textDocument/definition", document.at("import twice", 8)) == place
        assert s.ask("textDocument/definition", document.at("lib as other", 1))["uri"].endswith("/lib.tile")
        # What is not saved counts.
        lib, _ = opened(s, HEAD + "\n@triton.jit\ndef twice(x):\n    return x * 2.0, x\n", os.path.join(folder, "lib.tile"))
        codes = s.wait(lambda: (lambda found: found or None)([m for m in s.notifications if m["params"]["uri"] == document.uri and m["params"]["diagnostics"]]))
        assert document.part(codes[-1]["params"]["diagnostics"][0]["range"]).startswith("c + d"), codes
        place = s.ask("textDocument/definition", document.at("twice(a)", 3))
        assert place["range"]["start"]["line"] == 6
        # An error in the other file is shown where it is called.
        s.forget()
        lib.set(HEAD + "@triton.jit\ndef twice(x):\n    return tl.nothing(x)\n")
        found = s.wait(lambda: (lambda list_: list_ or None)([m["params"]["diagnostics"] for m in s.notifications if m["params"]["uri"] == document.uri]))
        (first, *_) = found[-1]
        assert first["code"] == "elab_module_name" and document.part(first["range"]) == "twice(a)"
        assert first["relatedInformation"][0]["location"]["uri"] == lib.uri
        assert s.end() == (0, "")


def test_layouts():
    s = start(options={"layouts": True, "limit": 60000})
    matmul = read("kernels/matmul.tile")
    at = matmul.index("@triton.jit\ndef matmul(")
    signature = '# tilec: -s "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, 128, 128, 64" -t sm_90a --num-warps 4 --num-stages 3\n'
    document, said = opened(s, matmul[:at] + signature + matmul[at:])
    assert [d for d in said if d["severity"] == 1] == [], said
    text = document.hover("a = tl.load")
    assert "a: fp16[128, 64]" in text and "In registers: " in text and "lane = " in text, text
    assert "In shared memory: " in text, text
    other, _ = opened(s, SOFTMAX, "/nowhere/softmax.tile")
    text = other.hover("x = tl.load")
    assert "In registers: " in text and "In shared memory" not in text
    s.tell("workspace/didChangeConfiguration", {"settings": {"tilec": {"layouts": False}}})
    assert "In registers" not in other.hover("x = tl.load")
    assert s.end() == (0, "")


def test_hints():
    s = start()
    document, _ = opened(s, SOFTMAX)
    assert hints(document) == {"offsets": ": i32[1024]", "mask": ": i1[1024]", "x": ": fp32[1024]", "e": ": fp32[1024]", "y": ": fp32[1024]"}
    line = document.place(document.text.index("e = tl.exp"))["line"]
    some = s.ask("textDocument/inlayHint", {"textDocument": {"uri": document.uri}, "range": {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}})
    assert [h["label"] for h in some] == [": fp32[1024]"]
    assert s.end() == (0, "")


def test_completion():
    s = start()
    document, _ = opened(s, SOFTMAX)
    found = labels(document, "tl.load", 3)
    assert {"load", "store", "dot", "float16", "bfloat16", "math", "extra", "where"} <= set(found)
    assert "x" not in found and "program_id" in found and found["load"]["detail"].startswith("(pointer, mask=None")
    item = s.ask("completionItem/resolve", found["load"])
    assert item["label"] == "load" and "Triton 2.0" in item["documentation"]["value"]
    found = labels(document, "e = tl.exp", 4)
    assert {"x", "mask", "BLOCK", "offsets", "tl", "triton", "range", "len", "softmax", "for"} <= set(found)
    assert found["x"]["detail"] == "fp32[1024]" and found["BLOCK"]["detail"] == "constexpr = 1024" and "load" not in found
    document.replace("e = tl.exp(x - tl.max(x, axis=0))", "e = tl.max(x, \n    z = x.\n    w = tl.math.")
    found = labels(document, "tl.max(x, ", 10)
    assert {"axis=", "keep_dims=", "return_indices="} <= set(found) and "input=" not in found and "x" in found, sorted(found)
    document.replace("tl.max(x, \n", "tl.max(x, axis=0, \n")
    found = labels(document, "axis=0, ", 8)
    assert "keep_dims=" in found and "axis=" not in found
    document.replace("tl.max(x, axis=0, \n", "tl.max(x)\n")
    found = labels(document, "z = x.", 6)
    assert {"shape", "dtype", "to", "sum", "T"} <= set(found) and "load" not in found
    found = labels(document, "w = tl.math.", 12)
    assert "exp" in found and "load" not in found
    assert labels(document, "Softmax of", 4) == {}
    document.set(HEAD + "from triton.language.extra import libdevice\n\n\n@triton.jit\ndef k(p):\n    libdevice.\n    tl.extra.cuda.libdevice.\n")
    assert {"pow", "tan"} <= set(labels(document, "libdevice.\n    tl", 10)) and "pow" in labels(document, "cuda.libdevice.", 15)
    assert s.end() == (0, "")


def test_signature():
    s = start()
    document, _ = opened(s, SOFTMAX)

    def active(needle, behind=0):
        result = s.ask("textDocument/signatureHelp", document.at(needle, behind))
        if result is None:
            return None
        (signature,) = result["signatures"]
        number = result["activeParameter"]
        return signature["label"], signature["parameters"][number]["label"] if number < len(signature["parameters"]) else None

    assert active("tl.load(", 8) == ("load(pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', eviction_policy='', volatile=False)", "pointer")
    assert active("mask=mask, other", 6)[1] == "mask=None"
    assert active("other=-float", 7)[1] == "other=None"
    assert active("axis=0)", 6)[1].startswith("axis")
    assert active("e = tl", 2) is None
    document.replace("y = e / tl.sum(e, axis=0)", "y = e / softmax(e, (1, 2), [3\n    z = x.sum(\n")
    assert active("(1, 2), ", 8) == ("softmax(x_ptr, y_ptr, x_stride, y_stride, cols, BLOCK: tl.constexpr)", "x_stride")
    assert active("(1, 2)", 3)[1] == "y_ptr"
    document.replace("softmax(e, (1, 2), [3", "softmax(e)")
    assert active("x.sum(", 6)[1].startswith("axis")
    assert s.end() == (0, "")


def test_places():
    s = start()
    text = HEAD + '''SIZE = 128


@triton.jit
def scale(v, by):
    return v * by


# tilec: -s "*fp32, *fp32"
@triton.jit
def kernel(p, q):
    i = tl.arange(0, SIZE)
    x = tl.load(p + i)
    for step in range(3):
        x = scale(x, by=2.0)
    if SIZE > 64:
        x = x + 1
    tl.store(q + i, x)
'''
    document, said = opened(s, text)
    assert said == []

    def definition(needle, behind=0, nth=0):
        result = s.ask("textDocument/definition", document.at(needle, behind, nth))
        return result and (document.part(result["range"]), document.offset(result["range"]["start"]))

    assert definition("SIZE)") == ("SIZE", document.text.index("SIZE = "))
    assert definition("scale(x") == ("scale", document.text.index("scale(v"))
    assert definition("by=2.0") == ("by", document.text.index("by):"))
    assert definition("x)\n", 0) == ("x", document.text.index("x = x + 1"))
    assert definition("p + i") == ("p", document.text.index("p, q)"))
    assert definition("tl.store", 4) is None and definition("2.0") is None

    def ranges(method, needle, behind=0, **more):
        params = document.at(needle, behind)
        params.update(more)
        return s.ask("textDocument/" + method, params)

    found = ranges("references", "x = tl.load", context={"includeDeclaration": True})
    assert len(found) == 6 and all(document.part(r["range"]) == "x" for r in found)
    assert len(ranges("references", "x = tl.load", context={"includeDeclaration": False})) == 5
    assert len(ranges("references", "SIZE = ", context={"includeDeclaration": True})) == 3
    kinds = [h["kind"] for h in ranges("documentHighlight", "i = tl.arange")]
    assert kinds == [3, 2, 2]
    assert ranges("references", "load(p", context={"includeDeclaration": True}) is None
    symbols = {symbol["name"]: symbol for symbol in s.ask("textDocument/documentSymbol", {"textDocument": {"uri": document.uri}})}
    assert list(symbols) == ["SIZE", "scale", "kernel"] and symbols["scale"]["kind"] == 12
    assert document.part(symbols["scale"]["range"]).endswith("return v * by") and document.part(symbols["kernel"]["selectionRange"]) == "kernel"
    folds = {(f["startLine"], f["endLine"]) for f in s.ask("textDocument/foldingRange", {"textDocument": {"uri": document.uri}})}
    line = document.place(document.text.index("    for step"))["line"]
    assert (line, line + 1) in folds and len(folds) == 4, folds
    prepared = ranges("prepareRename", "x = tl.load")
    assert prepared["placeholder"] == "x" and document.part(prepared["range"]) == "x"
    edits = ranges("rename", "x = tl.load", newName="tile")["changes"][document.uri]
    for e in sorted(edits, key=lambda e: -document.offset(e["range"]["start"])):
        document.change((document.offset(e["range"]["start"]), document.offset(e["range"]["end"]), e["newText"]))
    assert document.diagnostics() == [] and "tile = scale(tile, by=2.0)" in document.text and "tl.load(p + i)" in document.text
    for needle, name in (("SIZE = ", "M"), ("p, q)", "r"), ("i = ", "tl"), ("i = ", "q"), ("i = ", "2x"), ("i = ", "for"), ("tl.store", "x")):
        params = document.at(needle)
        params["newName"] = name
        assert s.refused("textDocument/rename", params) in (-32602, -32803), (needle, name)
    assert s.end() == (0, "")


FIXES = [
    ("y = tl.expp(x)", None, "y = tl.exp(x)"),
    ("y = np.exp(x)", None, "y = tl.exp(x)"),
    ("y = exp(x)", None, "y = tl.exp(x)"),
    ("y = tl.relu(x + x)", None, "y = tl.maximum((x + x), 0.0)"),
    ("y = tl.square(x) + x", None, "y = (x * x) + x"),
    ("y = x.isnan() | (x > 0)", None, "y = (x != x) | (x > 0)"),
    ("y = tl.sum(x, axs=0)", None, "y = tl.sum(x, axis=0)"),
    ("y = x.maximum(x)", None, "y = tl.maximum(x, x)"),
    ("y = tl.load(p + i, cache_modifier='.cx')", "`.cg`", "y = tl.load(p + i, cache_modifier='.cg')"),
    ("y = tl.arange(0, 100)", None, "y = tl.arange(0, 128)"),
    ("y = x * 2.5f", None, "y = x * 2.5"),
    ("y = x if N < 3 && True else x", "`and`", "y = x if N < 3 and True else x"),
    ("y = offset + 1", None, "y = offsets + 1"),
]


def test_fixes():
    """What a fix writes compiles, or at least has not that error any more."""
    s = start()
    text = HEAD + '''import numpy as np


# tilec: -s "*fp32, 128"
@triton.jit
def kernel(p, N: tl.constexpr):
    i = tl.arange(0, N)
    offsets = i + 1
    x = tl.load(p + i)
    y = x
    tl.store(p + i, x)
'''
    document, said = opened(s, text)
    assert said == []
    applied = 0
    for line, title, fixed in FIXES:
        document.set(text.replace("y = x\n", line + "\n"))
        said = document.diagnostics()
        apply_fix(document, said[0], title)
        assert fixed + "\n" in document.text, (line, document.text)
        assert said[0]["code"] not in [d["code"] for d in document.diagnostics()], (line, document.diagnostics())
        applied += 1
    assert applied >= 12
    params = whole(document)
    params["context"] = {"diagnostics": []}
    assert s.ask("textDocument/codeAction", params) == []
    assert s.end() == (0, "")


def test_units():
    """Places in lines beyond ASCII, in both encodings."""
    text = HEAD + '# tilec: -s "*fp32, 128"\n@triton.jit\ndef kernel(p, N: tl.constexpr):\n    "é𝔘"; i = tl.arange(0, N); "𝔘𝔘"; x = tl.load(p + i); "日本"; tl.store(p + i, xx)\r\n'
    for utf8 in (True, False):
        s = start(utf8=utf8)
        document, said = opened(s, text, utf8=utf8)
        (d,) = said
        assert document.part(d["range"]) == "xx"
        assert "x: fp32[128]" in document.hover("x = tl.load")
        assert hints(document)["i"] == ": i32[128]"
        apply_fix(document, d)
        assert "tl.store(p + i, x)\r\n" in document.text and document.diagnostics() == []
        document.replace("日本", "𝔘é日")
        assert document.diagnostics() == [] and "x: fp32[128]" in document.hover("x)\r")
        assert s.end() == (0, "")


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 3 or name[5:] in sys.argv[2:]):
            started = time.monotonic()
            test()
            print(f"{name[5:]}: {time.monotonic() - started:.1f} s", flush=True)
