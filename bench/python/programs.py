"""Scripts that use Triton, as they are, over tilec: the tutorials of Triton's repository, or any other.

    python programs.py SCRIPT.py ..  [--variants tilec,triton] [--jobs N] [--limit SECONDS] [--out FOLDER]

Each runs in a process of its own, several at a time, so that what scripts time among themselves says nothing. Prints a JSON line for each
script and variant: its status, seconds, the last line of an error; what it printed goes to FOLDER. Status: 0 if all that ran over tilec ended
well or as over Triton (some refuse GPUs that lack something)."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

WORDS = {"tilec": ("-m", "tilec"), "triton": ()}


def last_words(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def run(script, variant, limit, out):
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"MPLBACKEND": "Agg", "TRITON_CACHE_DIR": cache, "TILEC_CACHE_DIR": cache}
        begin, path = time.time(), os.path.join(out, f"{os.path.basename(script)}.{variant}.log")
        with open(path, "w", encoding="utf-8") as log:
            try:
                status = subprocess.run([sys.executable, *WORDS[variant], os.path.abspath(script)], env=env, cwd=cache, stdout=log,
                                        stderr=subprocess.STDOUT, timeout=limit, check=False).returncode
            except subprocess.TimeoutExpired:
                status = "timeout"
    with open(path, encoding="utf-8", errors="replace") as log:
        text = log.read()
    return {"script": os.path.basename(script), "variant": variant, "status": status, "seconds": round(time.time() - begin, 1),
            "last": last_words(text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="+")
    parser.add_argument("--variants", default="tilec,triton")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--out", default="build/programs")
    words = parser.parse_args()
    os.makedirs(words.out, exist_ok=True)
    done = {}
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        runs = [pool.submit(run, script, variant, words.limit, words.out)
                for variant in words.variants.split(",") for script in words.scripts]
        for each in concurrent.futures.as_completed(runs):
            row = each.result()
            done[row["script"], row["variant"]] = row["status"]
            print(json.dumps(row), flush=True)
    wrong = [script for (script, variant), status in done.items()
             if variant == "tilec" and status not in (0, done.get((script, "triton"), 0))]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
