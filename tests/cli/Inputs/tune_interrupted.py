"""tune_interrupted.py ENTRIES TILEC CACHE ARGUMENTS..: `tilec tune` with the cache and arguments is interrupted once the cache has as many entries;
it ends by that signal, and leaves no process behind."""
import json
import os
import signal
import subprocess
import sys
import time

entries, tilec, cache, *arguments = sys.argv[1:]


def measured():
    text = subprocess.run([tilec, "tune", "--cache-dir", cache, "--export", "/dev/stdout", "--json"], check=True, capture_output=True, text=True).stdout
    return len(json.JSONDecoder().raw_decode(text)[0]["tunings"])


def tuners():
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", encoding="utf-8") as file:
                words = file.read().split("\0")
        except OSError:
            continue
        found += [process] * (words[1:2] == ["tuner"] and cache in words)
    return found


# Whoever runs tests may have the signal ignored.
with subprocess.Popen([tilec, "tune", "--cache-dir", cache, *arguments], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
    for _ in range(600):
        if measured() >= int(entries):
            break
        time.sleep(0.05)
    for _ in range(200):
        began = len(tuners())  # none for a moment where one was struck out and the next one begins
        if began:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
print(f"{measured()} entries, {began} process, then {len(tuners())}, {signal.Signals(-process.returncode).name}")
