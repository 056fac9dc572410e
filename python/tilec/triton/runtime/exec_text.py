"""Texts of functions that exec() made: no file has them, and Triton's interpreter takes them from the call, so programs rely on it.

Listens to CPython's audit events, which it cannot stop doing: only where kernels run on this machine from the start."""
import sys
import threading
from collections import deque

_KEPT = 64  # functions are decorated while their text runs, so the last few are enough

_texts = deque(maxlen=_KEPT)  # (code of a text, the text)
_latest = threading.local()  # .text: what this thread compiles


def _listen(event, arguments):
    if event == "compile":
        _latest.text = arguments[0]
    elif event == "exec":
        text, _latest.text = getattr(_latest, "text", None), None
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if isinstance(text, str) and arguments[0].co_filename == "<string>":
            _texts.append((arguments[0], text))


def _contains(outer, code):
    return any(item is code or hasattr(item, "co_consts") and _contains(item, code) for item in outer.co_consts)


def install():
    """From now on; once a process."""
    sys.addaudithook(_listen)


def find(code):
    """Lines of the text that made a function's code, newest first, with their ends; empty: not known."""
    for outer, text in reversed(_texts):
        if _contains(outer, code):
            return text.splitlines(keepends=True)
    return []
