"""edits.py TILEC [SEED]: documents changed again and again: what the server knows of one that was edited piece by piece is what it knows of the same
text opened whole; and it takes no more memory for 2000 edits than for a few."""
import os
import random
import sys
import time

import client

TILEC = sys.argv[1]
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PIECES = ["x", "é", "𝔘", "日本", "\n", "\r\n", "\n    ", " ", "(", ")", "[", "]", ",", ".", "tl.", "tl.load(", '"', "'", '"""', "#", "# tilec: ", "1", "if x:\n        ", "def f(", "@triton.jit\n",
          "\\", "\t", "", "return", " = ", "+", "\u2028", "\x00"]
SOFTMAX_SIGNATURE = '# tilec: -s "*fp32, *fp32, i32, i32, i32, 1024"\n'


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def edit(chance, text):
    """A place, how much goes, and what comes; often what undoes an edit before."""
    begin = chance.randrange(len(text) + 1)
    if chance.random() < 0.5:
        return begin, begin, chance.choice(PIECES)
    end = min(len(text), begin + chance.choice([0, 1, 1, 2, 5, 20, 60]))
    return begin, end, chance.choice(PIECES) if chance.random() < 0.5 else ""


def known(document):
    """All that is said of a document, but its name. Hints are also what a kernel was before an error."""
    s, uri = document.server, {"textDocument": {"uri": document.uri}}
    answers = [document.diagnostics()]
    for method in ("documentSymbol", "foldingRange"):
        answers.append(s.ask("textDocument/" + method, uri))
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 100000, "character": 0}}
    if not answers[0]:
        answers.append(s.ask("textDocument/inlayHint", {**uri, "range": whole}))
    chance = random.Random(len(document.text))
    for _ in range(3):
        at = document.place(chance.randrange(len(document.text) + 1))
        answers.append(s.ask("textDocument/definition", {**uri, "position": at}))
        answers.append(s.ask("textDocument/documentHighlight", {**uri, "position": at}))
    return str(answers).replace(document.uri, "")


def lines(text):
    """The text as the protocol's lines are; the client's model has \\n alone."""
    return text.replace("\r\n", "\n")


def test_model(utf8):
    chance = random.Random(SEED)
    s = client.Server([TILEC, "lsp"])
    s.initialize(utf8=utf8, options={"delay": 0})
    base = lines(read("kernels/softmax.tile").replace("@triton.jit", SOFTMAX_SIGNATURE + "@triton.jit")) + '\n# 日本 𝔘é "\n'
    document = client.Document(s, "/nowhere/a.tile", base, utf8)
    for step in range(24):
        if step % 10 == 9:
            document.set(base)
        edits = []
        model = document.text
        for _ in range(chance.randrange(1, 6)):
            begin, end, piece = edit(chance, model)
            if model[begin - 1:begin] == "\r" or model[end - 1:end] == "\r" or "\r" in piece:
                continue  # the model has one kind of line end
            edits.append((begin, end, piece))
            model = model[:begin] + piece + model[end:]
        document.change(*edits)
        assert document.text == model
        other = client.Document(s, f"/nowhere/b{step}.tile", model, utf8)
        a, b = known(document), known(other)
        if "lex_" not in a and "parse_" not in a:
            assert a == b, (step, model, a, b)
        else:
            assert str(document.diagnostics()).replace(document.uri, "") == str(other.diagnostics()).replace(other.uri, ""), (step, model)
        other.close()
        s.forget()
        document.set(document.text)
    assert s.end() == (0, "")


def test_memory():
    """2000 edits of a large kernel, diagnostics of every fiftieth: the first few hundred take all the memory that it needs."""
    # ASan keeps what was freed for a while.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=16"
    s = client.Server([TILEC, "lsp"])
    s.initialize(options={"delay": 0})
    text = read("kernels/matmul.tile")
    at = text.index("@triton.jit\ndef matmul(")
    signature = '# tilec: -s "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, 128, 128, 64"\n'
    document = client.Document(s, "/nowhere/a.tile", text[:at] + signature + text[at:])
    first = None
    for step in range(2000):
        place = document.text.index("a = tl.load")
        if step % 2:
            document.change((place, place + 1, ""))
        else:
            document.change((place, place, "b"[: step % 3]))
        if step % 50 == 0:
            document.set(text[:at] + signature + f"# {step}\n" + text[at:] if step % 100 else text)
            document.diagnostics()
            document.hover("a = tl.load" if "a = tl.load" in document.text else "tl.load", 0)
            s.forget()
        if "a = tl.load" not in document.text:
            document.set(text)
        if step == 400:
            first = s.memory()
    grown = s.memory() - first
    print(f"resident: {first >> 20} MiB, {grown / 2**20:.1f} MiB more after 2000 edits")
    assert grown < 24 << 20, grown
    assert s.end() == (0, "")


def test_prefixes():
    """A kernel typed from its first byte to its last."""
    s = client.Server([TILEC, "lsp"])
    s.initialize(options={"delay": 0})
    text = read("kernels/softmax.tile").replace("@triton.jit", SOFTMAX_SIGNATURE + "@triton.jit")
    text = text[text.index("import triton\n"):]
    document = client.Document(s, "/nowhere/a.tile", "")
    for i in range(0, len(text), 9):
        document.change((len(document.text), len(document.text), text[i:i + 9]))
        end = document.place(len(document.text))
        for method in ("hover", "completion") if i % 2 else ("signatureHelp",):
            s.ask("textDocument/" + method, {"textDocument": {"uri": document.uri}, "position": end})
    assert document.text == text and document.diagnostics() == []
    assert "x: fp32[1024]" in document.hover("x = tl.load")
    assert s.end() == (0, "")


if __name__ == "__main__":
    started = time.monotonic()
    for name, test in (("utf-8", lambda: test_model(True)), ("utf-16", lambda: test_model(False)), ("prefixes", test_prefixes), ("memory", test_memory)):
        test()
        print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
