"""A pytest plugin that runs Triton's own tests, unmodified, on this package: suite.sh, `./dev suite`.

Functions that do not pass as they are stand in Inputs/triton_suite.tsv: those that are about Triton's own IR are left out; in those marked
"text" assertions about PTX or IR, which stand behind those about results, end a case as "text"; a number of cases fails. At the end come passed, failed and left out by function, and what failed first; the status is 0 if functions that ran fail
as the table says. SUITE_RESULTS=FILE: a line a case."""
import collections
import os
import pathlib
import re

import pytest
import tilec

tilec.install()  # in pytest-xdist's workers, too

HERE = pathlib.Path(__file__).parent


def _table():
    """{function: (how, reason)} of this run's device; how: "left out", "text", how many fail, "text+4", "0-1"."""
    rows = [row.split("\t") for row in (HERE / "Inputs/triton_suite.tsv").read_text().splitlines() if row[:1] not in ("", "#")]
    return {name: (how, reason) for name, devices, how, reason in rows if _kind() in devices.split("/")}


def _kind():
    if os.environ.get("TILEC_DEVICE") in ("cpu", "sim"):
        return os.environ["TILEC_DEVICE"]
    return "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"


def pytest_addoption(parser):
    parser.addoption("--device", action="store", default="cuda" if _kind() == "cuda" else "cpu")


def pytest_configure(config):
    for marker in ("interpreter: runs without a GPU", "forked: in a process of its own", "enable_warmup: of Triton's caches",
                   "disable_warmup: of Triton's caches"):
        config.addinivalue_line("markers", marker)
    config.stash[_counts] = collections.defaultdict(collections.Counter)
    config.stash[_reasons] = {}


_counts = pytest.StashKey()
_reasons = pytest.StashKey()


def pytest_collection_modifyitems(items):
    table = _table()
    for item in items:
        how, reason = table.get(item.originalname, ("", ""))
        if how == "left out":
            item.add_marker(pytest.mark.skip(reason="left out: " + reason))


@pytest.fixture
def device(request):
    return request.config.getoption("--device")


@pytest.fixture
def fresh_triton_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    yield str(tmp_path)


@pytest.fixture
def fresh_knobs():
    from triton._internal_testing import _fresh_knobs_impl

    fresh, reset = _fresh_knobs_impl()
    try:
        yield fresh()
    finally:
        reset()


@pytest.fixture
def fresh_knobs_including_libraries(fresh_knobs):
    return fresh_knobs


@pytest.fixture
def with_allocator():
    import triton
    from triton._internal_testing import default_alloc_fn
    from triton.runtime._allocation import NullAllocator

    triton.set_allocator(default_alloc_fn)
    try:
        yield
    finally:
        triton.set_allocator(NullAllocator())


_TEXT = re.compile(r"\b(asm|ptx|sass|llir|ttir|ttgir)\b")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if not report.failed or call.when != "call" or not _table().get(item.originalname, ("",))[0].startswith("text"):
        return
    places = [entry for entry in call.excinfo.traceback if entry.path == item.path]
    statement = str(places[-1].statement) if places else ""
    if call.excinfo.errisinstance((AssertionError, KeyError)) and _TEXT.search(statement):
        report.outcome, report.longrepr = "skipped", (str(item.path), places[-1].lineno, "text: " + " ".join(statement.split()))


def _outcome(report):
    if report.skipped:
        words = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        return "text" if words.startswith("text: ") else "left out" if "left out: " in words else "skipped"
    return "passed" if report.passed else "failed"


def _report_line(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return " ".join(str(crash.message if crash else report.longrepr or "").split())[:300] if report.failed else ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    """A case counts once: where it fails, or where it is called or skipped."""
    if report.when != "call" and not report.failed and not report.skipped:
        return
    if hasattr(_running["config"], "workerinput"):
        return  # the process that started this one gets it, too
    config, outcome, why = _running["config"], _outcome(report), _report_line(report)
    function = report.nodeid.rpartition("/")[2].partition("[")[0]
    config.stash[_counts][function][outcome] += 1
    if why:
        config.stash[_reasons].setdefault(function, why)
    if os.environ.get("SUITE_RESULTS"):
        with open(os.environ["SUITE_RESULTS"], "a") as file:
            file.write(f"{outcome}\t{report.nodeid}\t{why}\n")


_running = {}


def pytest_sessionstart(session):
    _running["config"] = session.config


def _wrong(config):
    """Functions of which another number of cases failed than the table says."""
    table, wrong = _table(), []
    for function, counter in config.stash[_counts].items():
        how = table.get(function.rpartition("::")[2], ("0", ""))[0]
        least, _, most = how.removeprefix("text").removeprefix("+").partition("-")
        if how != "left out" and not int(least or 0) <= counter["failed"] <= int(most or least or 0):
            wrong.append(f"{function}: {counter['failed']} failed, the table says {how}")
    return wrong


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if not hasattr(session.config, "workerinput") and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED if _wrong(session.config) else pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter, config):
    counts, total = config.stash[_counts], collections.Counter()
    for counter in counts.values():
        total += counter
    write = terminalreporter.write_line
    write("")
    for function, counter in sorted(counts.items()):
        if counter["failed"] or counter["left out"] or counter["text"]:
            numbers = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counter.items()))
            write(f"{function}: {numbers}" + (f"; first: {config.stash[_reasons][function]}" if counter["failed"] else ""))
    for line in _wrong(config):
        write("NOT AS EXPECTED " + line)
    write("suite: " + ", ".join(f"{total[outcome]} {outcome}" for outcome in ("passed", "failed", "text", "left out", "skipped")))
