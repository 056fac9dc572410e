"""examples.py TILEC: every example of every command's help runs, in a folder with the kernels, in the order of the commands; and each help fits a screen:
40 lines of 80 columns."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TILEC = os.path.abspath(sys.argv[1])
KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "kernels")
wrong = []


def output(*arguments):
    return subprocess.run([TILEC, *arguments], check=True, capture_output=True, text=True).stdout


def examples(text):
    return re.findall(r"^  (tilec (?:.*\\\n)*.*)", re.sub(r"^Usage.*", "", text), re.M)


def check_size(name, text):
    lines = text.splitlines()
    if len(lines) > 40 or max(map(len, lines)) > 80:
        wrong.append(f"help of {name}: {len(lines)} lines, the longest {max(map(len, lines))}")


# The manifest of an example; PTX, since there may be no assembler.
MANIFEST = """{"code": "ptx", "kernels": [{"file": "vector_add.tile", "signatures": "*fp32, *fp32, *fp32, i32", "constexprs": {"BLOCK": 1024}}]}"""

# The shapes of examples, for a driver that is the simulator.
TUNED = """{"file": "tuned.py", "kernel": "good", "args": {"x": "randn:fp32[n]", "y": "zeros:fp32[n]", "factor": 2.0}, "grid": "cdiv(n, BLOCK)",
"shapes": {"n": [64, 100]}}"""
SOFTMAX = """{"file": "softmax.tile", "args": {"x_ptr": "randn:fp32[2, n]", "y_ptr": "zeros:fp32[2, n]", "x_stride": "n", "y_stride": "n", "cols": "n"},
"constexprs": {"BLOCK": "n"}, "grid": "(2,)", "shapes": {"n": [16, 32]}}"""
DRIVER = os.path.join(os.path.dirname(TILEC), "..", "simdriver", "libtilec-cuda-sim.so")

commands = re.findall(r"^  ([a-z]+) +\S", output("help"), re.M)
check_size("tilec", output("help"))
with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(KERNELS, folder, dirs_exist_ok=True)
    with open(os.path.join(folder, "kernels.json"), "w", encoding="ascii") as file:
        file.write(MANIFEST)
    for name, text in (("shapes.json", TUNED), ("softmax.json", SOFTMAX)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tuned.py"), folder)
    environment = {**os.environ, "TILEC_CACHE_DIR": os.path.join(folder, "cache"), "PATH": os.path.dirname(TILEC) + os.pathsep + os.environ["PATH"]}
    for command in commands:
        text = output(command, "--help")
        check_size(command, text)
        found = examples(text)
        if not found:
            wrong.append(f"{command} --help: no example")
        for example in found:
            device = {"TILEC_CUDA_LIBRARY": DRIVER} if command in ("bench", "tune") else {}
            ran = subprocess.run(["bash", "-c", f'tilec() {{ {TILEC} "$@"; }}; {example}'], cwd=folder, env={**environment, **device}, capture_output=True,
                                 text=True)
            print(example.split("\n")[0])
            if ran.returncode:
                wrong.append(f"{example}: exit status {ran.returncode}\n{ran.stderr}")
print("\n".join(wrong), file=sys.stderr)
print(f"{len(commands)} commands")
sys.exit(len(wrong) != 0)
