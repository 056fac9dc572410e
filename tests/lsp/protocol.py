"""protocol.py TILEC: the protocol itself: the life of a server, messages that are wrong, bytes that are none, what is cancelled."""
import json
import random
import sys
import time

import client

TILEC = sys.argv[1]
KERNEL = '''import triton
import triton.language as tl


# tilec: -s "*fp32, 64"
@triton.jit
def fill(p, N: tl.constexpr):
    tl.store(p + tl.arange(0, N), 1.0)
'''
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, NOT_INITIALIZED, CANCELLED = -32700, -32600, -32601, -32602, -32002, -32800


def server():
    return client.Server([TILEC, "lsp", "--stdio"])


def framed(body):
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def errors(s, count):
    """The codes of answers without an id, once there are so many."""
    return [a["error"]["code"] for a in s.wait(lambda: (lambda list_: list_ if len(list_) >= count else None)(s.answers.get(None, [])))]


def test_life():
    s = server()
    assert s.refused("textDocument/hover", {}) == NOT_INITIALIZED
    assert s.refused("shutdown") == NOT_INITIALIZED
    s.tell("textDocument/didOpen", {})  # is dropped
    result = s.initialize()
    assert result["capabilities"]["positionEncoding"] == "utf-8"
    assert result["capabilities"]["textDocumentSync"]["change"] == 2
    for name in ("hover", "completion", "signatureHelp", "definition", "references", "documentHighlight", "documentSymbol", "rename", "foldingRange", "inlayHint", "codeAction"):
        assert result["capabilities"][name + "Provider"], name
    assert result["serverInfo"]["name"] == "tilec"
    assert s.refused("initialize", {"capabilities": {}}) == INVALID_REQUEST
    assert s.refused("tilec/nothing", {}) == METHOD_NOT_FOUND
    assert s.refused("textDocument/didOpen", {}) == METHOD_NOT_FOUND  # a notification
    s.tell("tilec/nothing", {})
    s.tell("$/setTrace", {"value": "verbose"})
    s.tell("$/cancelRequest", {"id": 12345})
    assert s.refused("textDocument/hover", {}) == INVALID_PARAMS
    assert s.refused("textDocument/hover", [1, 2]) == INVALID_PARAMS
    assert s.refused("textDocument/hover", {"textDocument": {"uri": "file:///nowhere"}, "position": {"line": 0, "character": 0}}) == INVALID_PARAMS
    assert s.ask("shutdown") is None
    assert s.refused("textDocument/hover", {}) == INVALID_REQUEST
    s.tell("exit")
    assert s.finish() == (0, "")


def test_exit():
    s = server()
    s.initialize()
    s.tell("exit")
    assert s.finish() == (1, "")
    s = server()
    s.tell("exit")
    assert s.finish() == (1, "")
    s = server()
    s.initialize()
    s.process.stdin.close()
    assert s.finish() == (1, "")
    s = server()
    s.write(b"Content-Length: 100\r\n\r\n{")
    s.process.stdin.close()
    assert s.finish() == (0, "")  # it never began


def test_encodings():
    s = server()
    assert s.initialize(utf8=False)["capabilities"]["positionEncoding"] == "utf-16"
    assert s.end() == (0, "")


def test_wrong_messages():
    s = server()
    s.initialize()
    bodies = [(b"{", PARSE_ERROR), (b"", PARSE_ERROR), (b"\xff\xfe", PARSE_ERROR), (b'{"a": 1} x', PARSE_ERROR), (b"[" * 1000, PARSE_ERROR), (b"[]", INVALID_REQUEST),
              (b"1", INVALID_REQUEST), (b"{}", INVALID_REQUEST), (b'{"jsonrpc": "1.0", "method": "x"}', INVALID_REQUEST), (b'{"jsonrpc": "2.0", "method": 1}', INVALID_REQUEST),
              (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', INVALID_REQUEST), (b'{"jsonrpc": "2.0", "method": "\\ud800"}', PARSE_ERROR)]
    for body, _ in bodies:
        s.write(framed(body))
    assert errors(s, len(bodies)) == [code for _, code in bodies]
    headers = [b"Content-Length: x\r\n\r\n", b"Content-Length: -1\r\n\r\n", b"Content-Length: 99999999999999999999\r\n\r\n", b"Content-Length: 9999999999\r\n\r\n",
               b"Content-Type: text\r\n\r\n", b"nothing\r\n\r\n", b": \n\n"]
    for header in headers:
        s.write(header)
    assert errors(s, len(bodies) + len(headers))[len(bodies):] == [PARSE_ERROR] * len(headers)
    # Headers in any case and order, ids that are strings, a response that nobody waits for.
    body = b'{"jsonrpc": "2.0", "id": "one", "method": "tilec/nothing"}'
    s.write(b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:%d\r\n\r\n" % len(body) + body)
    assert s.answer("one")["error"]["code"] == METHOD_NOT_FOUND
    s.send({"jsonrpc": "2.0", "id": 77, "result": None})
    s.send({"jsonrpc": "2.0", "id": "two", "method": "initialized"})
    assert s.answer("two")["error"]["code"] == METHOD_NOT_FOUND
    assert s.end() == (0, "")


def test_garbage():
    """Bytes of every kind, after each of which the server answers again."""
    chance = random.Random(5)
    s = server()
    s.initialize()
    pieces = [b"Content-Length", b": ", b"5", b"\r\n", b"\r\n\r\n", b"{", b'"', b"\x00", b"\xff", b"jsonrpc", b"2.0", b"method"]
    for _ in range(150):
        if chance.random() < 0.5:
            data = bytes(chance.randrange(256) for _ in range(chance.randrange(400)))
        else:
            data = b"".join(chance.choice(pieces) for _ in range(chance.randrange(40)))
        s.write(data)
        s.write(b"\r\n\r\n")  # ends what might be headers; what was taken for a body may be as long as a digit or two says
        s.write(b" " * 600)
        s.write(b"\r\n\r\n")
        assert s.refused("tilec/nothing") == METHOD_NOT_FOUND
    assert s.end() == (0, "")


def test_wrong_params():
    """Parameters of every shape, for every method."""
    chance = random.Random(6)
    s = server()
    s.initialize()
    document = client.Document(s, "/nowhere/a.tile", KERNEL)
    assert document.diagnostics() == []
    methods = ["textDocument/" + name for name in ("hover", "completion", "signatureHelp", "definition", "references", "documentHighlight", "documentSymbol", "rename", "prepareRename",
                                                   "foldingRange", "inlayHint", "codeAction")] + ["completionItem/resolve"]
    notifications = ["textDocument/" + name for name in ("didOpen", "didChange", "didSave", "didClose")] + ["workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles"]
    places = [0, 3, 1000000, 2147483647, 4294967295, 99999999999999999999, -1, 1.5, "1", None, [], {}]

    def place():
        return {"line": chance.choice(places), "character": chance.choice(places)}

    def uri():
        return chance.choice([document.uri, document.uri, document.uri, "file:///other", "", "file://", "untitled:1", 5, None])

    def params():
        return chance.choice([None, [], {}, {"textDocument": 5}, {"textDocument": {"uri": uri()}, "position": place()}, {"textDocument": {"uri": uri()}, "position": place(), "newName": "x"},
                              {"textDocument": {"uri": uri()}, "range": {"start": place(), "end": place()}, "context": {"diagnostics": []}},
                              {"label": "x", "data": {"builtin": chance.choice(places)}}, {"settings": chance.choice([None, 1, [], {"tilec": chance.choice([1, [], {"target": 5}])}])}])

    for _ in range(400):
        s.start(chance.choice(methods), params())
    for _ in range(100):
        given = params()
        method = chance.choice(notifications)
        if method != "textDocument/didClose":
            s.tell(method, given)
    for changes in (None, 1, [1], [{}], [{"text": 5}], [{"text": "", "range": 1}], [{"text": "", "range": {"start": place()}}]):
        s.tell("textDocument/didChange", {"textDocument": {"uri": document.uri, "version": 1}, "contentChanges": changes})
    document.set(KERNEL)
    assert document.diagnostics() == []
    assert s.end() == (0, "")


def test_cancel():
    """A request that waits is answered as cancelled; one of another id is not."""
    s = server()
    s.initialize(options={"limit": 20000})
    slow = KERNEL.replace("    tl.store(", "    for i in tl.static_range(60000):\n        q = tl.arange(0, N) + i\n    tl.store(")
    document = client.Document(s, "/nowhere/a.tile", slow)
    # The first one has the document analysed, which takes long enough for the others to arrive.
    messages = [{"jsonrpc": "2.0", "id": number, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": document.uri}}} for number in range(100, 106)]
    messages.append({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 103}})
    s.write(b"".join(framed(json.dumps(message).encode()) for message in messages))
    answers = [s.answer(number) for number in range(100, 106)]
    assert [a.get("error", {}).get("code") for a in answers] == [None, None, None, CANCELLED, None, None]
    assert s.end() == (0, "")


def test_slow():
    """A kernel that takes long does not hold up what the client sends; what is too much is told."""
    s = server()
    s.initialize(options={"limit": 60000, "delay": 0})
    endless = KERNEL.replace("    tl.store(", "    for i in tl.static_range(60000):\n        for j in tl.static_range(60000):\n            q = tl.exp(tl.arange(0, N) * 1.0) + i\n    tl.store(")
    document = client.Document(s, "/nowhere/a.tile", endless)
    time.sleep(0.3)  # it is being analysed
    start = time.monotonic()
    document.set(KERNEL)
    assert document.diagnostics() == []
    assert time.monotonic() - start < 20
    document.set(endless)
    assert [d["code"] for d in document.diagnostics()] == ["elab_too_much"]
    s.tell("workspace/didChangeConfiguration", {"settings": {"tilec": {"limit": 1}}})
    document.set(endless + "\n")
    assert [d["code"] for d in document.diagnostics()] == ["compile_timeout"]
    assert s.end() == (0, "")


def test_coalesced():
    """Of changes that come at once only the last state is analysed."""
    s = server()
    s.initialize(options={"delay": 100})
    document = client.Document(s, "/nowhere/a.tile", KERNEL)
    document.diagnostics()
    s.forget()
    for i in range(200):
        document.change((len(document.text), len(document.text), f"# {i}\n"))
    assert document.diagnostics() == []
    with s.lock:
        published = [m["params"]["version"] for m in s.notifications]
    assert published[-1] == document.version and len(published) < 50, published
    document.replace("arange", "arrange")
    assert document.hover("fill") is not None
    assert s.end() == (0, "")


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 3 or name[5:] in sys.argv[2:]):
            started = time.monotonic()
            test()
            print(f"{name[5:]}: {time.monotonic() - started:.1f} s", flush=True)
