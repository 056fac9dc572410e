#!/usr/bin/env python3
"""What judges the rows: it finds a wrong bit, a unit too many, a recording of something else."""
import os
import sys
import tempfile

import numpy as np

import compare
import recordings
from formats import FORMATS, decode, edges, encode
from rows import Row, Stored, Ulp, elementwise, given, some


def row_of(expression="x + 1", t="fp32", how="bits"):
    row = elementwise("row", (), "language.md#operators", expression, [some(t, 16)], t, lambda x: x + 1, compare=how)
    row.group = "group"
    return row


def test_bits():
    row = row_of(t="i32")
    want = row.arguments["x_p"].values + 1
    assert compare.judge(row, "o_p", want, want) is None
    assert "1 of 16 differ" in compare.judge(row, "o_p", np.where(np.arange(16) == 3, want ^ 1, want), want)
    row = row_of()
    want = np.array([0.0, 1.0, np.nan, np.inf])
    got = want.astype(np.float32)
    assert compare.judge(row, "o_p", got, want) is None
    assert compare.judge(row, "o_p", got, Stored(got)) is None
    for at, value in ((0, -0.0), (1, np.nextafter(np.float32(1), np.float32(2))), (2, 1.0), (3, np.nan), (3, -np.inf)):
        wrong = got.copy()
        wrong[at] = value
        assert f"first [{at}]" in compare.judge(row, "o_p", wrong, want), value
    assert "elements" in compare.judge(row, "o_p", got[:2], want)


def test_units():
    one = np.float32(1)
    above = np.nextafter(one, np.float32(2))
    third = np.nextafter(np.nextafter(above, np.float32(2)), np.float32(2))
    row = row_of(how=Ulp(2))
    assert compare.judge(row, "o_p", np.array([above]), np.array([1.0])) is None
    assert compare.judge(row, "o_p", np.array([third]), np.array([1.0])) is not None
    assert compare.judge(row, "o_p", np.array([third]), np.array([one]), recorded=True) is None  # Triton's may err, too
    for got, want in ((np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (-np.inf, np.inf), (0.0, 1e-30), (-0.0, 0.0)):
        assert compare.judge(row, "o_p", np.array([got], np.float32), np.array([want])) is not None, (got, want)
    assert compare.judge(row_of(how=Ulp(2, flushes=True)), "o_p", np.array([0], np.float32), np.array([1e-40])) is None
    assert compare.judge(row_of(how=Ulp(2, absolute=1e-3)), "o_p", np.array([1.0005], np.float32), np.array([1.0])) is None
    assert compare.judge(row_of(how=Ulp(2, absolute=1e-4)), "o_p", np.array([1.0005], np.float32), np.array([1.0])) is not None
    each = row_of(how=Ulp(lambda row: np.array([0.5, 4])))
    assert "1 of 2 differ" in compare.judge(each, "o_p", np.array([third, third]), np.array([1.0, 1.0]))


def test_recordings():
    row = row_of()
    left = {"o_p": np.arange(16, dtype=np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        recordings.FOLDER = folder
        assert recordings.read([row]) == ({}, [])
        recordings.write(folder, "group", {"triton": "0", "gpu": "none"}, [row], {"row": left})
        assert recordings.read_file(os.path.join(folder, "group.xz"))[0]["triton"] == "0"
        found, stale = recordings.read([row])
        assert not stale and (found["row"]["o_p"] == left["o_p"]).all()
        for other in (row_of("x + 2"), row_of(t="fp64"), Row(**{**vars(row_of()), "warps": 8})):
            other.group = "group"
            assert recordings.read([other]) == ({}, ["row"])
        changed = row_of()
        changed.arguments["x_p"] = given("fp32", np.arange(16))
        assert recordings.read([changed]) == ({}, ["row"])


def test_formats():
    for name, f in FORMATS.items():
        if f.is_float and f.bits <= 16:
            codes = np.arange(1 << f.bits).astype(f"u{f.bits // 8}").view(f.stored)
            values = decode(name, codes)
            again = encode(name, values, saturate=False)
            kept = compare.equal_bits(name, again, codes) | (np.isinf(values) & (f.bits == 8)) | (values == 0) & (f.special == "fnuz")
            assert kept.all(), name
    with np.errstate(over="ignore"):
        x = np.concatenate([np.array(edges("fp32")), np.linspace(-7e4, 7e4, 999)])
        assert compare.equal_bits("fp16", encode("fp16", x), x.astype(np.float16)).all()
    assert decode("bf16", encode("bf16", np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 3.4e38]))).tolist() == [1.0, 1 + 2 * 2.0**-7, np.inf]
    assert decode("fp8e4nv", encode("fp8e4nv", np.array([464.0, 1e9, -np.inf]))).tolist() == [448.0, 448.0, -448.0]


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    sys.exit(0)
