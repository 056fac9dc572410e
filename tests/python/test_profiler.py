"""triton.profiler: what is measured, what is written, what is shown."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import tilec.triton as triton
import tilec.triton.language as tl
import tilec.triton.profiler as proton
from tilec.triton.profiler import viewer


def work(grid, metadata, args):
    return {"name": f"twice_{args['n']}", "flops16": 2 * args["n"], "bytes": args["x"].nbytes}


@triton.jit(launch_metadata=work)
def twice(x, n):
    i = tl.arange(0, 64)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


class Profiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path, self.x = os.path.join(folder.name, "mine"), np.ones(64, np.float32)

    def root(self):
        with open(self.path + ".hatchet", encoding="utf-8") as file:
            return json.load(file)[0]

    def test_launches_and_scopes(self):
        session = proton.start(self.path, hook="triton")
        twice[(1,)](self.x, 32)
        with proton.scope("outer"):
            twice[(1,)](self.x, 32)
            twice[(1,)](self.x, 16)
            with proton.scope("library", {"flops16": 1000}):
                pass
        with proton.scope("around"), proton.scope("within"):
            pass
        proton.deactivate(session)
        twice[(1,)](self.x, 32)
        with proton.scope("not measured"):
            pass
        proton.activate(session)
        twice[(1,)](self.x, 32)
        proton.finalize()
        self.assertEqual(triton.knobs.runtime.launch_enter_hook.calls, [])
        root = self.root()
        by_name = {node["frame"]["name"]: node for node in root["children"]}
        self.assertEqual({*by_name}, {"twice_32", "outer", "around"})
        self.assertEqual((by_name["around"]["metrics"], by_name["around"]["children"][0]["metrics"]["count"]), ({}, 1))
        first, outer = by_name["twice_32"], by_name["outer"]
        self.assertEqual((first["metrics"]["count"], first["metrics"]["flops16"], first["metrics"]["bytes"]), (2, 128, 512))
        self.assertGreater(first["metrics"]["time (ns)"], 0)
        self.assertEqual([node["frame"]["name"] for node in outer["children"]], ["twice_32", "twice_16", "library"])
        self.assertNotIn("time (ns)", outer["metrics"])  # what is in it is measured
        self.assertEqual((outer["children"][2]["metrics"]["flops16"], outer["children"][2]["metrics"]["count"]), (1000, 1))

    def test_shown(self):
        root = {"frame": {"name": "ROOT"}, "metrics": {}, "children": [
            {"frame": {"name": "a"}, "metrics": {"time (ns)": 2000000, "count": 2, "flops16": 4e9}, "children": []},
            {"frame": {"name": "b"}, "metrics": {}, "children": [
                {"frame": {"name": "c"}, "metrics": {"time (ns)": 1000000, "count": 1, "bytes": 5e8, "flops8": 1e9}, "children": []}]}]}
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump([root, {}], file)
        names = ["time/ms", "avg_time/us", "gflop16/s", "tflop/s", "gbyte/s", "count"]
        tree, metrics = viewer.parse(names, self.path)
        self.assertEqual(metrics, names)
        self.assertEqual([round(value, 6) for value in tree["values"]], [3, 1000, round(4 / 3e-3, 6), round(5e9 / 3e-3 / 1e12, 6), round(.5 / 3e-3, 6), 3])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            viewer.main(["-m", "time/ms", self.path])
        self.assertEqual(out.getvalue(), "time/ms\n3.000 ROOT\n├─ 2.000 a\n└─ 1.000 b\n   └─ 1.000 c\n")
        self.assertEqual([node["name"] for node in viewer.parse(["count"], self.path, include="c")[0]["children"]], ["b"])
        self.assertEqual([node["name"] for node in viewer.parse(["count"], self.path, exclude="a|c")[0]["children"]], ["b"])
        self.assertEqual([node["name"] for node in viewer.parse(["count"], self.path, threshold=2)[0]["children"]], ["a"])
        with self.assertRaisesRegex(ValueError, "util is not in tilec"):
            viewer.parse(["util"], self.path)

    def test_decorator(self):
        @proton.profile(name=self.path, hook="triton")
        def run():
            twice[(1,)](self.x, 8)
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            run()
        self.assertEqual([node["frame"]["name"] for node in self.root()["children"]], ["twice_8"])

    def test_by_hand(self):
        proton.start(self.path)
        proton.enter_scope("a")
        with self.assertRaisesRegex(ValueError, "innermost scope is 'a'"):
            proton.exit_scope("b")
        proton.exit_scope("a", metrics={"bytes": 3})
        twice[(1,)](self.x, 8)  # which nobody measures
        proton.finalize()
        self.assertEqual([(node["frame"]["name"], node["metrics"]["bytes"]) for node in self.root()["children"]], [("a", 3)])

    def test_what_is_not_there(self):
        for options in ({"backend": "cupti"}, {"mode": "pcsampling"}, {"data": "trace"}, {"hook": "launch"}, {"context": "python"}):
            with self.assertRaisesRegex(NotImplementedError, "measured by events"):
                proton.start(self.path, **options)
        self.assertFalse(hasattr(proton, "language"))
        with mock.patch.dict(os.environ, TRITON_PROTON_DISABLE="1"):
            self.assertIsNone(proton.start(self.path, hook="triton"))
            with proton.scope("a"):
                twice[(1,)](self.x, 8)
            proton.finalize()
        self.assertFalse(os.path.exists(self.path + ".hatchet"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
