"""reduce.py TILEC CASE: what `tilec reduce` leaves of sources, and that candidates are what it says of them."""
import ast
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

TILEC = os.path.abspath(sys.argv[1])
INPUTS = os.path.dirname(os.path.abspath(__file__))
# Fails, with status 1, while the file has the word. Keeps what it was run on.
LOGGED = ["sh", "-c", 'cat "$1" >> "$0"; printf "\\001" >> "$0"; ! grep -q {word} "$1"', "LOG", "{}"]
# What ASan says once of a jump on a stack that the program made itself.
OF_SANITIZERS = re.compile("WARNING: ASan is ignoring|^False positive error reports may follow|google/sanitizers/issues")


def reduce(folder, source, *arguments, **options):
    before, command = (arguments[:arguments.index("--")], arguments[arguments.index("--"):]) if "--" in arguments else (arguments, [])
    output = () if "-o" in before else ("-o", os.path.join(folder, "out.py"))
    ran = subprocess.run([TILEC, "reduce", os.path.join(INPUTS, source), *output, *before, *command], capture_output=True, text=True,
                         env={**os.environ, "TMPDIR": folder}, check=False, **options)
    ran.stderr = "".join(line for line in ran.stderr.splitlines(keepends=True) if not OF_SANITIZERS.search(line))
    return ran


def read(folder, name="out.py"):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def logged(folder, word):
    return ["--", *(part.replace("{word}", shlex.quote(word)).replace("LOG", os.path.join(folder, "log")) for part in LOGGED)]


def has(word):
    """Succeeds, and says so, while the file has the word: one process a run."""
    return ["-m", word, "--", "grep", word, "{}"]


def left(folder):
    """What runs have left: the work folders' parent goes with the last of them."""
    return glob.glob(os.path.join(folder, "tilec-*", "*"))


def candidates(folder):
    """Every candidate is Python, was run once, and is no larger than what it was made of."""
    ran = reduce(folder, "large.py", *logged(folder, "cumsum"))
    texts = read(folder, "log").split("\1")[:-1]
    for text in texts:
        ast.parse(text)
    assert len(set(texts)) == len(texts) > 20, len(texts)
    assert f"; {len(texts)} runs" in ran.stderr.splitlines()[-1], ran.stderr
    assert read(folder) == texts[-1] or read(folder) in texts, texts[-1]
    print(read(folder).strip())
    assert ran.returncode == 0 and not left(folder), ran


def again(folder):
    """The result of a result is the same."""
    reduce(folder, "large.py", "-q", *has("cumsum"))
    first = read(folder)
    ran = reduce(folder, os.path.join(folder, "out.py"), "-o", os.path.join(folder, "again.py"), *has("cumsum"))
    assert read(folder, "again.py") == first and ran.returncode == 0, ran.stderr
    print(first.strip())


def forms(folder):
    """What holds the word shows what the forms around it may become."""
    for word in ("wanted", "second", "keeps"):
        ran = reduce(folder, "forms.py", "-q", *has(word))
        print(f"{word}: {ran.returncode} {read(folder).strip()!r}")


def kernel(folder):
    """A kernel that does not compile, and the reason stays."""
    types = ("-k", "kernel", "-s", "*fp32:16, *fp32:16, i32, fp32, 48")
    message = "arange's range must be a power of 2"
    ran = reduce(folder, "large.py", "-m", message, "--", TILEC, "check", "{}", *types)
    print(read(folder).strip())
    print(ran.stdout.replace(folder, "F").replace(TILEC, "tilec").strip())
    check = subprocess.run(shlex.split(ran.stdout), capture_output=True, text=True, check=False)
    assert check.returncode == 1 and message in check.stderr, check


def arguments(folder):
    """With its arguments: a scan stays in Tile IR."""
    ran = reduce(folder, "large.py", "-a", "-m", "= scan", "--json", "--", TILEC, "compile", "{}", "-k", "kernel", "-s",
                 "*fp32:16, *fp32:16, i32, fp32, 64", "--num-warps", "8", "--no-ftz", "--emit", "tir")
    report = json.loads(ran.stdout)
    print(read(folder).strip())
    print(" ".join(report["command"][3:]))
    print(report["ok"], report["lines"], report["bytes"][1] == len(read(folder)), report["diagnostics"])


def numbers(folder):
    """Numbers of the command: as small as they may be, those of names and floats left alone."""
    script = 'import re, sys; text = " ".join(sys.argv[2:]); n = [int(x) for x in re.findall(r"n=(\\d+)", text)]; ' \
             'sys.exit(bool(n) and n[0] >= 100 and "fp32[" in text and "1e-5" in text)'
    ran = reduce(folder, "helper.py", "-a", "-q", "--", sys.executable, "-c", script, "{}", "-a", "x=randn:fp32[64,1000]", "--atol", "1e-5",
                 "-D", "n=1000", "--flag", "-t", "sm_90a", "--grid", "8")
    print(ran.stdout.split(script.split(";")[0])[-1].split("'", 1)[-1].split("out.py ")[-1].strip())


def ends(folder):
    """A signal is a status; a run that takes too long fails only if the first did."""
    source = os.path.join(folder, "two.py")
    with open(source, "w", encoding="utf-8") as file:
        file.write("first = 1\nsecond = 2\n")
    for name, script in (("signal", 'if grep -q first "$0"; then kill -SEGV $$; fi; exit 1'), ("timeout", 'if grep -q first "$0"; then sleep 60; fi; exit 1'),
                         ("slower", 'if ! grep -q second "$0"; then sleep 60; fi; exit 1')):
        ran = reduce(folder, source, "-q", "--timeout", "1", "--", "sh", "-c", script, "{}")
        print(f"{name}: {ran.returncode} {read(folder).strip()!r} {ran.stderr.strip()}")


def syntax(folder):
    """A mistake of syntax that is to stay; a file that imports its neighbours."""
    with open(os.path.join(folder, "broken.tile"), "w", encoding="utf-8") as file:
        file.write("from helper import first\n\n@triton.jit\ndef f(x):\n    y = 1\n    tl.store(x, )) + y\n    z = 2\n    return\n")
    ran = reduce(folder, os.path.join(folder, "broken.tile"), "-q", "-m", "closes nothing", "--", TILEC, "check", "{}")
    print(ran.returncode, repr(read(folder)), ran.stderr)
    for name, text in (("near.tile", "@triton.jit\ndef first():\n    return tl.nothing()\n"),
                       ("main.tile", "from near import first\n\n@triton.jit\ndef f(x: \"*i32\"):\n    y = 1\n    tl.store(x, first() + y)\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    ran = reduce(folder, os.path.join(folder, "main.tile"), "-q", "-m", "near.tile:3:.*no .nothing", "--", TILEC, "check", "{}")
    print(ran.returncode, repr(read(folder)), ran.stderr)


def interrupted(folder):
    """The process ends by the signal, the file has what was found, nothing else stays."""
    output = os.path.join(folder, "out.py")
    command = logged(folder, "cumsum")
    command[3] = "sleep 0.1; " + command[3]
    with subprocess.Popen([TILEC, "reduce", os.path.join(INPUTS, "large.py"), "-o", output, *command], stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "TMPDIR": folder}, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
        first = os.path.getsize(os.path.join(INPUTS, "large.py"))
        for _ in range(600):
            if os.path.exists(output) and os.path.getsize(output) < first:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    text = read(folder)
    ast.parse(text)
    assert process.returncode == -signal.SIGINT and "stopped: " in said, (process.returncode, said)
    assert "cumsum" in text and len(text) < first and text in read(folder, "log").split("\1")
    assert not left(folder), left(folder)


def wrong(folder):
    """What is wrong with the command line, the source or the command."""
    cases = (("helper.py", "--", "true", "{}"), ("helper.py", "-m", "zzz", "--", "false", "{}"), ("helper.py", "-m", "(", "--", "false", "{}"),
             ("helper.py", "--", "false"), ("none.py", "--", "false", "{}"), ("helper.py", "--", "no-such-program", "{}"),
             ("helper.py", "--", "/no/such/program", "{}"), ("helper.py", "-o", "/dev/null/x", "--", "false", "{}"), ("helper.py",),
             ("helper.py", "--json", "-o", "-", "--", "false", "{}"))
    for case in cases:
        ran = reduce(folder, *case)
        print(ran.returncode, ran.stderr.strip().split("\n")[0].replace(INPUTS, "I"))
    ran = reduce(folder, "helper.py", "-o", "-", *has("first"))
    print(ran.returncode, repr(ran.stdout), ran.stderr.splitlines()[-1].split(" ")[-1])


with tempfile.TemporaryDirectory() as made:
    globals()[sys.argv[2]](made)
print("done")
