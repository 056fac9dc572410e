"""bench_interrupt.py TILEC: what was measured before SIGINT is printed and written, and the process ends by the signal."""
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile

SHAPES = {
    "file": os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench.tile"),
    "kernel": "scale",
    "args": {"x": "randn:fp32[n]", "factor": 0.5},
    "grid": "cdiv(n, BLOCK)",
    "shapes": {"n": list(range(16, 16000, 16))},  # more than are measured until the signal arrives
}
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "shapes.json"), "w", encoding="ascii") as file:
        json.dump(SHAPES, file)
    command = [sys.argv[1], "bench", "--shapes", "shapes.json", "-D", "BLOCK=16", "--num-warps", "1", "--runs", "6", "--csv", "t.csv", "--svg", "pictures"]
    # Whoever runs the tests may have it ignored.
    take = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, preexec_fn=take) as process:
        rows = []
        for line in process.stdout:
            rows += [line] if line.startswith("n=") else []
            if len(rows) == 2:
                process.send_signal(signal.SIGINT)
    assert process.returncode == -signal.SIGINT, process.returncode
    with open(os.path.join(folder, "t.csv"), encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    measured = [line for line in lines if line["runs"] != "0"]
    # The signal may arrive when a shape is measured and its line is not printed yet.
    assert len(rows) >= 2 and 0 <= len(measured) - len(rows) <= 1 and len(lines) == len(SHAPES["shapes"]["n"]) > len(rows)
    assert all(row.split()[0] == f"n={line['n']}" for row, line in zip(rows, measured))
    assert os.path.exists(os.path.join(folder, "pictures", "sweep.svg"))
print("interrupted")
