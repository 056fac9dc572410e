"""Sessions: trees of scopes and kernels, with the time between events around each."""
import functools
import json
import threading
from contextlib import ContextDecorator

from tilec.triton import knobs
from tilec.triton.runtime.driver import driver

_LIKE_FLOPS = ("flops", "bytes")


class _Node:
    """A scope or a kernel below a scope; the same name there is the same node."""

    def __init__(self, name):
        self.name, self.metrics, self.children = name, {}, {}

    def child(self, name):
        return self.children.setdefault(name, _Node(name))

    def add(self, metrics):
        for name, value in metrics.items():
            self.metrics[name] = self.metrics.get(name, 0) + value

    def plain(self):
        return {"frame": {"name": self.name, "type": "function"}, "metrics": self.metrics,
                "children": [child.plain() for child in self.children.values()]}


class _Session:
    def __init__(self, name):
        self.name, self.root, self.is_active = name, _Node("ROOT"), True
        self.pending = []  # (node, event, event) whose time is not read yet

    def settle(self):
        """Waits for what is measured, and adds it up."""
        if self.pending:
            driver.active.get_device_interface().synchronize()
        for node, begin, end in self.pending:
            node.add({"time (ns)": round(1e6 * begin.elapsed_time(end)), "count": 1})
        self.pending.clear()


_sessions = {}
_numbers = iter(range(1 << 62))
_thread = threading.local()  # .scopes: the names of those that are open; .launch: of a kernel that is between its hooks


def _scopes():
    if not hasattr(_thread, "scopes"):
        _thread.scopes = []
    return _thread.scopes


def _active():
    return [session for session in _sessions.values() if session.is_active]


def _node(session, names):
    node = session.root
    for name in names:
        node = node.child(name)
    return node


def _event():
    """On the current stream, which launches go to."""
    made = driver.active.get_device_interface().Event(enable_timing=True)
    made.record()
    return made


def _enter_launch(metadata):
    _thread.launch = (metadata.get(), _event()) if _active() else None


def _exit_launch(metadata):
    launch, _thread.launch = getattr(_thread, "launch", None), None
    if launch is None:
        return
    said, begin = launch
    end = _event()
    for scope in _scopes():
        scope.has_launches = True
    for session in _active():
        node = _node(session, [*(scope.name for scope in _scopes()), said["name"]])
        node.add({name: value for name, value in said.items() if name.startswith(_LIKE_FLOPS)})
        session.pending.append((node, begin, end))


def _is_disabled():
    return knobs.proton.disable


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Begins a session, which measures from here on, and gives its number. `hook`: "triton" measures launches, None scopes alone."""
    if _is_disabled():
        return None
    for what, value, there in (("context", context, ("shadow",)), ("data", data, ("tree",)), ("backend", backend, (None,)),
                               ("mode", mode, (None, "")), ("hook", hook, (None, "triton"))):
        if value not in there:
            raise NotImplementedError(f"{what}={value!r} of triton.profiler.start is not in tilec: kernels and scopes are measured by "
                                      "events")
    number = next(_numbers)
    _sessions[number] = _Session(name or "proton")
    _sessions[number].is_hooked = hook is not None
    if hook:
        knobs.runtime.launch_enter_hook.add(_enter_launch)
        knobs.runtime.launch_exit_hook.add(_exit_launch)
    return number


def _chosen(session):
    return [*_sessions.values()] if session is None else [_sessions[session]]


def activate(session=None):
    """Measures on; all sessions or one."""
    if not _is_disabled():
        for each in _chosen(session):
            each.is_active = True


def deactivate(session=None, *, flushing=False):
    if not _is_disabled():
        for each in _chosen(session):
            each.is_active = False
            if flushing:
                each.settle()


def finalize(session=None, output_format=""):
    """Ends all sessions or one; each writes NAME.hatchet."""
    if _is_disabled():
        return
    if output_format not in ("", "hatchet"):
        raise NotImplementedError(f"output_format={output_format!r} of triton.profiler.finalize is not in tilec: \"hatchet\" is what there is")
    for number in [*_sessions] if session is None else [session]:
        ended = _sessions.pop(number)
        ended.settle()
        with open(f"{ended.name}.hatchet", "w", encoding="utf-8") as file:
            json.dump([ended.root.plain(), {}], file)
    if not any(each.is_hooked for each in _sessions.values()):
        knobs.runtime.launch_enter_hook.remove(_enter_launch)
        knobs.runtime.launch_exit_hook.remove(_exit_launch)


class scope(ContextDecorator):
    """Names what is in it. `metrics`: {"flops16": .., "bytes": ..}, or whatever else is added up. A scope in which no launch was
    measured is measured itself."""

    def __init__(self, name, metrics=None):
        self.name, self.metrics = name, metrics or {}

    def _recreate_cm(self):
        return scope(self.name, self.metrics)

    def __enter__(self):
        self.has_launches = False
        self._sessions = [] if _is_disabled() else _active()
        self._begin = _event() if self._sessions else None
        _scopes().append(self)
        return self

    def __exit__(self, *error):
        names = [each.name for each in _scopes()]
        _scopes().remove(self)
        end = _event() if self._sessions and not self.has_launches else None
        for session in self._sessions:
            node = _node(session, names)
            node.add(self.metrics)
            if end is not None:
                session.pending.append((node, self._begin, end))
        for outer in _scopes():
            outer.has_launches |= self.has_launches or bool(self._sessions)


def enter_scope(name, *, triton_op=False, metrics=None):
    return scope(name, metrics).__enter__()


def exit_scope(name=None, *, triton_op=False, metrics=None):
    """Ends the innermost scope, which has to have that name if one is given."""
    innermost = _scopes()[-1]
    if name is not None and innermost.name != name:
        raise ValueError(f"the innermost scope is {innermost.name!r}, not {name!r}")
    innermost.metrics = {**innermost.metrics, **(metrics or {})}
    innermost.__exit__(None, None, None)


def profile(func=None, *, name=None, **options):
    """A decorator: a session for each call of a function."""
    if func is None:
        return functools.partial(profile, name=name, **options)

    @functools.wraps(func)
    def profiled(*args, **kwargs):
        session = start(name, **options)
        try:
            return func(*args, **kwargs)
        finally:
            if session is not None:
                finalize(session)

    return profiled
