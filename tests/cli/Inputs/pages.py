"""pages.py TILEC FOLDER: the man pages in the folder name every command, and each command's page every option that its help has."""
import os
import re
import subprocess
import sys

TILEC, FOLDER = sys.argv[1:]
wrong = []


def output(*arguments):
    return subprocess.run([TILEC, *arguments], check=True, capture_output=True, text=True).stdout


def page(name):
    with open(os.path.join(FOLDER, "man", "man1", name), encoding="ascii") as file:
        return file.read().replace("\\-", "-")


commands = re.findall(r"^  ([a-z]+) +\S", output("help"), re.M)
options = 0
for command in commands:
    if f"tilec-{command}(1)" not in page("tilec.1"):
        wrong.append(f"tilec.1 does not name {command}")
    text = page(f"tilec-{command}.1")
    for option in re.findall(r"^  (?:-., |    )--([a-z-]+)", output(command, "--help-all"), re.M):
        options += 1
        if f"--{option}\\fR" not in text:
            wrong.append(f"tilec-{command}.1: no word of --{option}")
print("\n".join(wrong), file=sys.stderr)
print(f"{options} options of {len(commands)} commands")
sys.exit(len(wrong) != 0)
