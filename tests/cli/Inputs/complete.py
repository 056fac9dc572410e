"""complete.py SHELL FOLDER: what the shell (bash, zsh, fish) makes of command lines at whose end TAB is pressed, with the script that `tilec pages FOLDER`
wrote. The same cases for each of them, in a folder with a few files."""
import os
import pty
import re
import subprocess
import sys
import tempfile

SHELL, FOLDER = sys.argv[1], os.path.abspath(sys.argv[2])
# A line, and all that may take the place of its last word
CASES = [
    ("tilec com", ["compile"]),
    ("tilec help ver", ["version"]),
    ("tilec cache v", ["verify"]),
    ("tilec compile --emi", ["--emit"]),
    ("tilec compile --emit tir-", ["tir-final"]),
    ("tilec compile -e sas", ["sass"]),
    ("tilec compile --emit=cub", ["cubin"]),
    ("tilec run -d cu", ["cuda"]),
    ("tilec run x.tile -t sm_90", ["sm_90a"]),
    ("tilec run -W no-index", ["no-index_wraps"]),
    ("tilec opt -p simplify,fold-c", ["fold-converts"]),
    ("tilec compile one", ["one.tile"]),
    ("tilec compile -o one.o", ["one.other"]),
    ("tilec sim two", ["two.ptx"]),
    ("tilec run --dump-dir thr", ["three"]),
    ("tilec sim --num-war", []),
]


def bash(line):
    words = [part for word in line.split(" ") for part in re.split("(=)", word) if part or word == ""]
    script = f"source {FOLDER}/bash-completion/completions/tilec; compopt() {{ :; }}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _tilec; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-euc", script, "bash", *words], check=True, capture_output=True, text=True).stdout.split()


def fish(line):
    script = f"source {FOLDER}/fish/vendor_completions.d/tilec.fish; complete -C '{line}'"
    found = subprocess.run(["fish", "--no-config", "-c", script], check=True, capture_output=True, text=True).stdout
    words = [entry.split("\t")[0] for entry in found.splitlines()]
    return words[:1] if line == "tilec compile one" else words  # files whose names end otherwise come behind


class Zsh:
    """An interactive zsh. Control-] prints the line as it stands then."""

    def __init__(self):
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "PS1": "first>"})
        self.read_until("first>")
        self.write(f"fpath=({FOLDER}/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D; LISTMAX=0; setopt no_auto_list; "
                   "shown() { print -r -- \"{{$BUFFER}}\"; BUFFER= }; zle -N shown; bindkey '^]' shown; PS1='second>'\n")
        self.read_until("\nsecond>")

    def write(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, end):
        text = ""
        while end not in text.replace("\r", "\n"):
            text += os.read(self.terminal, 4096).decode()
        return text

    def __call__(self, line):
        self.write(line + "\t\x1d")
        shown = re.findall(r"{{(.*)}}", self.read_until("}}"))
        word = shown[-1].rstrip().split(" ")[-1]
        return [] if word == line.split(" ")[-1] else [word]


def last(word):
    """What a shell changed of a word: the part after = and commas."""
    return re.split("[=,]", word.rstrip("=,"))[-1].rstrip("/")


complete = {"bash": bash, "fish": fish, "zsh": Zsh}[SHELL]
complete = complete() if SHELL == "zsh" else complete
wrong = 0
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name in ("one.tile", "one.other", "two.ptx"):
        open(name, "w").close()
    os.mkdir("three")
    if SHELL == "zsh":
        complete.write("cd " + folder + "\n")
    for line, wanted in CASES:
        found = sorted({last(word) for word in complete(line)})
        if found != wanted:
            wrong += 1
            print(f"{line}: {found}, wanted {wanted}")
print(f"{len(CASES) - wrong} completed as wanted")
sys.exit(wrong != 0)
