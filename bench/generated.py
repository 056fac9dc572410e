#!/usr/bin/env python3
"""What launches near the compiler's own are worth, on a GPU: `tilec tune` of kernels that have no configurations.

    generated.py --tilec TILEC [--json FILE]

For every shape the time of the compiler's choice over that of the best of what was measured, by the tuner's own times: at
least 1, and 1 where the compiler chooses best."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels")
PRODUCT = {"kernel": "matmul",
           "args": {"a_ptr": "randn:fp16[M, K]", "b_ptr": "randn:fp16[K, N]", "c_ptr": "zeros:fp16[M, N]", "stride_am": "K",
                    "stride_ak": 1, "stride_bk": "N", "stride_bn": 1, "stride_cm": "N", "stride_cn": 1},
           "grid": "cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)",
           "shapes": [{"M": n, "N": n, "K": n} for n in (512, 1024, 2048, 4096)] + [{"M": 64, "N": 8192, "K": 4096}]}
TILES = [(128, 256, 64), (128, 128, 32), (64, 64, 32), (32, 128, 64)]
CASES = [("softmax.tile", "softmax.json", {}, {})]
CASES += [("matmul.tile", None, PRODUCT, {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}) for m, n, k in TILES]


def tune(tilec, folder, kernel, shapes):
    """The tunings of all shapes: {(options, key): {configuration: ms}}."""
    path, export = os.path.join(folder, "shapes.json"), os.path.join(folder, "tunings.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(shapes, file)
    subprocess.run([tilec, "tune", os.path.join(KERNELS, kernel), "--shapes", path, "--cache-dir", os.path.join(folder, "cache"),
                    "--export", export], check=True, stdout=subprocess.DEVNULL)
    found = {}
    with open(export, encoding="utf-8") as file:
        for line in json.load(file)["tunings"]:
            found.setdefault((line["options"], line["key"]), {})[line["configuration"]] = line.get("ms")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    for kernel, path, shapes, constexprs in CASES:
        if path:
            with open(os.path.join(KERNELS, path), encoding="utf-8") as file:
                shapes = json.load(file)
        with tempfile.TemporaryDirectory() as folder:
            found = tune(options.tilec, folder, kernel, shapes | {"constexprs": shapes.get("constexprs", {}) | constexprs})
        for (given, key), times in found.items():
            best = min((ms, name) for name, ms in times.items() if ms)
            own = times["the compiler's choice"]
            rows.append({"kernel": kernel, "options": given, "key": key, "own_us": own * 1e3, "best_us": best[0] * 1e3,
                         "best": best[1], "measured": len(times), "gain": own / best[0]})
            print(f"{kernel:14} {given:40} {key[:40]:40} {own * 1e3:9.2f} us {best[0] * 1e3:9.2f} us {own / best[0]:.3f} {best[1]}",
                  flush=True)
    gains = [row["gain"] for row in rows]
    print(f"the compiler's choice over the best of {statistics.mean(row['measured'] for row in rows):.0f}: geometric mean "
          f"{statistics.geometric_mean(gains):.3f}, most {max(gains):.3f}, within 2 % in {sum(g <= 1.02 for g in gains)} of {len(gains)}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
