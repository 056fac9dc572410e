"""The language's names on the host: types and constants behave as Triton's, whose answers Inputs/language.json has."""
import importlib
import inspect
import json
import os
import pickle
import sys
import unittest

import tilec

tilec.install()

import triton
import triton.language as tl
from language_cases import DTYPES, TYPES, expressions, outcome, scope

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "language.json"), encoding="utf-8") as file:
    RECORDED = json.load(file)

# Where tilec answers something else, and why. Everything here is checked to differ.
VOID = [f"{type_}.is_void()" for type_ in (f"tl.dtype('{name}')" for name in DTYPES)]
DIFFERENT = {
    "is_void() is not implemented there": [*VOID, "tl.dtype('void').mangle()", "tl.void.mangle()", "core.slice_type().mangle()"],
    "types that are equal there and have no hash": ["{tl.pointer_type(tl.int8): 1}", "{tl.block_type(tl.int8, [2]): 1}"],
    "equality of tiles' types is a constexpr there": [
        "tl.block_type(tl.int8, [4, 2]) == tl.block_type(tl.int8, [2, 4])",
        *(f"{type_} == {type_}" for type_ in TYPES if "block_type" in type_)],
    "a subscript that is no number is an AttributeError there": ["tl.constexpr([1, 2, 3])[1:]", "tl.constexpr({'a': 1})['a']"],
}
ALLOWED = {expression for expressions in DIFFERENT.values() for expression in expressions}


class Answers(unittest.TestCase):
    maxDiff = None

    def test_as_recorded(self):
        where = scope()
        asked = list(expressions())
        self.assertEqual(sorted(set(asked)), sorted(RECORDED["answers"]), "record_language.py has other cases")
        wrong = {}
        for expression in asked:
            got = outcome(expression, where)
            if (got != RECORDED["answers"][expression]) != (expression in ALLOWED):
                wrong[expression] = (got, RECORDED["answers"][expression])
        self.assertEqual(wrong, {})


class Names(unittest.TestCase):
    maxDiff = None

    def test_every_name_is_there_or_is_said_to_be_missing(self):
        silent = []
        for path, names in RECORDED["names"].items():
            module = importlib.import_module(path)
            for name in names:
                try:
                    getattr(module, name)
                except AttributeError as error:
                    if f"{path}.{name} is not in tilec: " not in str(error):
                        silent.append(f"{path}.{name}")
        self.assertEqual(silent, [])

    def test_parameters(self):
        other = {}
        for path, names in RECORDED["names"].items():
            module = importlib.import_module(path)
            for name, wanted in names.items():
                ours = getattr(module, name, None)
                if wanted is None or not getattr(ours, "__triton_builtin__", False):
                    continue
                got = [name for name in inspect.signature(ours).parameters if not name.startswith("_")]
                # libdevice's are called arg0, arg1, .. there, which nobody passes by name. Newer versions have more behind.
                if len(got) != len(wanted) if "libdevice" in path else got[:len(wanted)] != wanted:
                    other[f"{path}.{name}"] = (got, wanted)
        self.assertEqual(other, {})


class Functions(unittest.TestCase):
    def test_on_the_host(self):
        for call in (lambda: tl.load(1), lambda: tl.sum(1), lambda: tl.extra.libdevice.exp(1), lambda: tl.extra.cuda.gdc_wait()):
            with self.assertRaisesRegex(ValueError, "Did you forget to add @triton.jit"):
                call()
        with self.assertRaisesRegex(NotImplementedError, "tl.load in a function marked as builtin"):
            tl.load(1, _semantic=object())
        with self.assertRaisesRegex(NotImplementedError, "TritonSemantic is not in tilec"):
            importlib.import_module("triton.language.semantic").TritonSemantic(None)

    def test_one_object_under_all_its_names(self):
        self.assertIs(tl.exp, tl.math.exp)
        self.assertIs(tl.sum, tl.standard.sum)
        self.assertIs(tl.load, tl.core.load)
        self.assertIs(tl.extra.libdevice.isnan, tl.extra.cuda.libdevice.isnan)
        self.assertIsNot(tl.min, tl.math.min)
        for thing in (tl.load, tl.exp, tl.sum, tl.rand, tl.extra.cuda.gdc_wait, tl.extra.libdevice.isnan, triton.cdiv, tl.float32,
                      tl.tuple_type, tl.PropagateNan.ALL):
            self.assertEqual(pickle.loads(pickle.dumps(thing)), thing)

    def test_signatures_have_the_hidden_parameter(self):
        self.assertIn("_semantic", inspect.signature(tl.core.view).parameters)
        self.assertIs(inspect.signature(tl.dot_scaled).parameters["out_dtype"].default, tl.float32)

    def test_what_is_missing(self):
        for call in (lambda: tl.extra.hip.memrealtime, lambda: tl.extra.hip.libdevice.exp):
            with self.assertRaisesRegex(AttributeError, "is not in tilec: it is for AMD's GPUs"):
                call()
        with self.assertRaisesRegex(AttributeError, "module 'triton.language' has no attribute 'nonsense'"):
            tl.nonsense
        # What others look for to know which Triton it is.
        for name in ("ReductionOrdering", "libdevice"):
            self.assertFalse(hasattr(tl, name))
        self.assertFalse(hasattr(tl.extra.cuda, "experimental_device_tensormap_create2d"))
        with self.assertRaises(ImportError):
            importlib.import_module("triton.language.extra.tlx")

    def test_names_as_in_the_compiler(self):
        self.assertEqual([name for name in tl.__all__ if not hasattr(tl, name)], [])
        self.assertTrue({"load", "dot", "exp", "sum", "rand", "constexpr", "range", "float32"} <= {*tl.__all__})
        self.assertTrue(hasattr(tl.tensor, "sum") and hasattr(tl.tensor, "to") and hasattr(tl.tensor_descriptor, "gather"))
        self.assertFalse(hasattr(tl.tensor, "load"))


@triton.aggregate
class Pair:
    first: tl.tensor
    second: tl.constexpr = 3

    def both(self):
        return self.first, self.second


@triton.aggregate
class Triple(Pair):
    third: tl.constexpr

    def __init__(self, x, _semantic=None):
        self.first, self.second, self.third = x, tl.constexpr(0), tl.constexpr(_semantic)


class Aggregates(unittest.TestCase):
    x = tl.tensor(None, tl.int32)

    def test_fields(self):
        pair = Pair(self.x)
        self.assertIs(pair.both()[0], self.x)
        self.assertEqual(repr(pair.second), "constexpr[3]")
        self.assertEqual(repr(Pair(self.x, second=4).second), "constexpr[4]")
        self.assertEqual((Pair.__name__, Pair.__qualname__, Pair.__module__), ("Pair", "Pair", __name__))
        self.assertRegex(pair.type.mangle(), r"\.Pair<i32, constexpr_type\[3\]>$")
        self.assertEqual(Triple(self.x, _semantic=7).third.value, 7)
        self.assertEqual(Triple.__aggregate_fields__, ("first", "second", "third"))
        self.assertEqual(tl.core.aggregate_replace(pair, second=9).second.value, 9)

    def test_mistakes(self):
        for error, text, call in (
                (TypeError, "Pair.__init__.. missing required argument: 'first'", lambda: Pair()),
                (TypeError, "Pair.__init__.. too many positional arguments", lambda: Pair(1, 2, 3)),
                (TypeError, "Expected .*tensor.* for attribute 'first'", lambda: Pair(1)),
                (AttributeError, "Pair has no attribute 'other'", lambda: setattr(Pair(self.x), "other", 1)),
                (TypeError, "Pair has no field 'third'", lambda: tl.core.aggregate_replace(Pair(self.x), third=1)),
                (TypeError, "expects an aggregate instance", lambda: tl.core.aggregate_replace(1))):
            with self.assertRaisesRegex(error, text):
                call()
        with self.assertRaisesRegex(TypeError, "non-aggregate base"):
            triton.aggregate(type("Other", (list,), {"__annotations__": {}}))

        @triton.aggregate
        class Half:
            field: tl.constexpr

            def __init__(self):
                pass

        with self.assertRaisesRegex(AttributeError, "constructor for Half did not initialize attribute 'field'"):
            Half()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
