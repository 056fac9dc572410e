"""A client of `tilec lsp` for tests: messages by hand, documents with a model of their text."""
import json
import os
import queue
import subprocess
import threading
import time


class Server:
    """A server that runs. Messages that come are sorted: answers by id, notifications by method."""

    def __init__(self, command, seconds=120):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.seconds = seconds
        self.answers, self.notifications = {}, []
        self.lock, self.next_id = threading.Condition(), 0
        self.ended = False
        self.stderr = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        self.stderr.put(self.process.stderr.read())

    def _read(self):
        out = self.process.stdout
        while True:
            length = None
            while True:
                line = out.readline()
                if not line:
                    with self.lock:
                        self.ended = True
                        self.lock.notify_all()
                    return
                line = line.strip()
                if not line:
                    break
                name, _, value = line.partition(b":")
                assert name == b"Content-Length", line
                length = int(value)
            message = json.loads(out.read(length).decode("utf-8"))
            assert message["jsonrpc"] == "2.0"
            with self.lock:
                if "method" in message:
                    self.notifications.append(message)
                else:
                    assert ("result" in message) != ("error" in message), message
                    self.answers.setdefault(message["id"], []).append(message)
                self.lock.notify_all()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode("utf-8")
        self.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def wait(self, found):
        """What `found` gives once it is not None."""
        end = time.monotonic() + self.seconds
        with self.lock:
            while True:
                value = found()
                if value is not None:
                    return value
                left = end - time.monotonic()
                if left <= 0 or self.ended:
                    said = self.stderr.get(timeout=10).decode("utf-8", "replace") if self.ended else ""
                    raise AssertionError(f"the server {'ended' if self.ended else 'says nothing'}: {self.notifications[-3:]}\n{said}")
                self.lock.wait(left)

    def answer(self, number):
        return self.wait(lambda: self.answers.get(number, [None])[0])

    def start(self, method, params=None):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return self.next_id

    def ask(self, method, params=None):
        """The result."""
        answer = self.answer(self.start(method, params))
        assert "error" not in answer, answer
        return answer["result"]

    def refused(self, method, params=None):
        """The code of the error."""
        answer = self.answer(self.start(method, params))
        assert "error" in answer, answer
        return answer["error"]["code"]

    def tell(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def initialize(self, utf8=True, options=None, **capabilities):
        document = {"hover": {"contentFormat": ["markdown", "plaintext"]}, "completion": {"completionItem": {"snippetSupport": False}},
                    "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}}}
        document.update(capabilities)
        encodings = ["utf-8", "utf-16"] if utf8 else ["utf-16"]
        params = {"processId": os.getpid(), "rootUri": None, "capabilities": {"general": {"positionEncodings": encodings}, "textDocument": document}}
        if options is not None:
            params["initializationOptions"] = options
        result = self.ask("initialize", params)
        self.tell("initialized", {})
        return result

    def diagnostics(self, uri, version):
        """Those of that version of a document."""
        def found():
            for message in reversed(self.notifications):
                params = message["params"]
                if message["method"] == "textDocument/publishDiagnostics" and params["uri"] == uri and params.get("version", version) == version:
                    return params["diagnostics"]
            return None
        return self.wait(found)

    def forget(self):
        with self.lock:
            self.notifications.clear()

    def end(self):
        """Shuts down in order; the exit status and what was said on standard error."""
        assert self.ask("shutdown") is None
        self.tell("exit")
        return self.finish()

    def finish(self):
        status = self.process.wait(self.seconds)
        return status, self.stderr.get(timeout=self.seconds).decode("utf-8", "replace")

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Document:
    """A document that is open, and its text as the client knows it."""

    def __init__(self, server, path, text, utf8=True):
        self.server, self.uri, self.text, self.version, self.utf8 = server, "file://" + path, text, 1, utf8
        server.tell("textDocument/didOpen", {"textDocument": {"uri": self.uri, "languageId": "python", "version": 1, "text": text}})

    def units(self, text):
        return len(text.encode("utf-8")) if self.utf8 else len(text.encode("utf-16-le")) // 2

    def place(self, offset):
        line = self.text.count("\n", 0, offset)
        begin = self.text.rfind("\n", 0, offset) + 1
        return {"line": line, "character": self.units(self.text[begin:offset])}

    def offset(self, place):
        begin = 0
        for _ in range(place["line"]):
            begin = self.text.index("\n", begin) + 1
        at = begin
        while self.units(self.text[begin:at]) < place["character"]:
            at += 1
        return at

    def at(self, needle, behind=0, nth=0):
        """The parameters of a request at the place of a text."""
        at = -1
        for _ in range(nth + 1):
            at = self.text.index(needle, at + 1)
        return {"textDocument": {"uri": self.uri}, "position": self.place(at + behind)}

    def part(self, range_):
        return self.text[self.offset(range_["start"]):self.offset(range_["end"])]

    def change(self, *edits):
        """Edits (begin, end, text), one after the other, in one message."""
        changes = []
        for begin, end, text in edits:
            changes.append({"range": {"start": self.place(begin), "end": self.place(end)}, "text": text})
            self.text = self.text[:begin] + text + self.text[end:]
        self.tell(changes)

    def replace(self, old, new):
        at = self.text.index(old)
        self.change((at, at + len(old), new))

    def tell(self, changes):
        self.version += 1
        self.server.tell("textDocument/didChange", {"textDocument": {"uri": self.uri, "version": self.version}, "contentChanges": changes})

    def set(self, text):
        self.text = text
        self.tell([{"text": text}])

    def diagnostics(self):
        return self.server.diagnostics(self.uri, self.version)

    def hover(self, needle, behind=0, nth=0):
        result = self.server.ask("textDocument/hover", self.at(needle, behind, nth))
        return result and result["contents"]["value"]

    def close(self):
        self.server.tell("textDocument/didClose", {"textDocument": {"uri": self.uri}})
