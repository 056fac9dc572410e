"""What Triton left on a GPU, a file for each group: a line of JSON (Triton's version, the GPU, of each row the hash of what it was and where its
outputs lie) and the outputs behind it, compressed."""
import json
import lzma
import os

import numpy as np

from formats import FORMATS

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


def write(folder, group, header, rows, results):
    """Of the rows of a group those that have outputs in `results`."""
    data, entries = b"", {}
    for row in rows:
        entry = {"hash": row.hash(), "outputs": {}}
        for name, array in results[row.name].items():
            entry["outputs"][name] = [len(data), array.nbytes]
            data += array.tobytes()
        entries[row.name] = entry
    text = json.dumps({**header, "rows": entries}, sort_keys=True).encode() + b"\n"
    with open(os.path.join(folder, f"{group}.xz"), "wb") as file:
        file.write(lzma.compress(text + data, preset=9 | lzma.PRESET_EXTREME))


def read_file(path):
    with open(path, "rb") as file:
        text, _, data = lzma.decompress(file.read()).partition(b"\n")
    return json.loads(text), data


def read(rows):
    """({row: {output: stored elements}}, names of rows whose recording is of something else)."""
    found, stale, files = {}, [], {}
    for row in rows:
        path = os.path.join(FOLDER, f"{row.group}.xz")
        if row.group not in files:
            files[row.group] = read_file(path) if os.path.exists(path) else None
        entry = files[row.group] and files[row.group][0]["rows"].get(row.name)
        if not entry or row.refused:
            continue
        if entry["hash"] != row.hash():
            stale.append(row.name)
            continue
        data = files[row.group][1]
        found[row.name] = {n: np.frombuffer(data[at:at + size], FORMATS[row.arguments[n].type].stored) for n, (at, size) in entry["outputs"].items()}
    return found, stale
