"""matcher.py TILEC: the problem matcher for GitHub makes of what `tilec check` prints what `--json` says; what pre-commit runs is a command that there is."""
import json
import os
import re
import subprocess
import sys

TILEC = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
with open(os.path.join(ROOT, "editors", "github", "tilec.json"), encoding="utf-8") as file:
    matchers = json.load(file)["problemMatcher"]


def matched(line):
    for matcher in matchers:
        pattern = matcher["pattern"][0]
        found = re.search(pattern["regexp"], line)
        if found:
            severity = found[pattern["severity"]] if "severity" in pattern else matcher["severity"]
            code = found[pattern["code"]] if "code" in pattern else None
            yield found[pattern["file"]], int(found[pattern["line"]]), int(found[pattern["column"]]), severity, found[pattern["message"]], code


def output(*arguments):
    return subprocess.run([TILEC, "check", "many", *arguments], cwd=HERE, capture_output=True, text=True)


said = [each for line in output().stderr.splitlines() for each in matched(line)]
known = [(d["file"], d["line"], d["column"], d["severity"], d["message"], d["id"] if d["severity"] == "warning" else None)
         for entry in json.loads(output("--json").stdout) for d in entry["diagnostics"]]
print("\n".join(map(str, said)))
assert said == known and len(said) == 4, known
assert list(matched("a.tile:3:4: remark: unrolled")) == [("a.tile", 3, 4, "notice", "unrolled", None)]
with open(os.path.join(ROOT, ".pre-commit-hooks.yaml"), encoding="utf-8") as file:
    hooks = file.read()
entry = re.search(r"^  entry: tilec (.+)$", hooks, re.M)[1].split()
files = re.search(r"^  files: (.+)$", hooks, re.M)[1]
assert re.search(files, "a/b.tile") and re.search(files, "b.py") and not re.search(files, "b.pyc")
assert subprocess.run([TILEC, *entry, os.path.join(HERE, "many", "host.py"), os.path.join(HERE, "many", "good.py")], capture_output=True).returncode == 0
assert subprocess.run([TILEC, *entry, os.path.join(HERE, "many", "wrong.tile")], capture_output=True).returncode == 1
