"""triton.tools.mxfp: needs torch."""
import importlib.util
import sys
import unittest

if importlib.util.find_spec("torch") is None:
    print("no torch")
    sys.exit(77)

import torch

from tilec.triton.tools.mxfp import MXFP4Tensor, MXScaleTensor


class Elements(unittest.TestCase):
    def test_numbers(self):
        exact = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0.0, -.5, -6])
        self.assertEqual(MXFP4Tensor(exact).data.tolist(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15])
        self.assertTrue(torch.equal(MXFP4Tensor(exact).to(torch.float32), exact))
        between = torch.tensor([.25, .75, 1.25, 1.75, 2.5, 3.5, 5, .24, .26, 4.9, 5.1, 100, -2.5])
        self.assertEqual(MXFP4Tensor(between).to(torch.float32).tolist(), [0, 1, 1, 2, 2, 4, 4, 0, .5, 4, 6, 6, -2])

    def test_packed(self):
        for size in ((4, 6), (4, 5), (3, 7)):
            made = MXFP4Tensor(size=size).random()
            for dim in (0, 1, -1):
                packed = made.to_packed_tensor(dim)
                self.assertEqual(packed.shape[dim], (size[dim] + 1) // 2)
                self.assertTrue(torch.equal(made.unpack_packed_tensor(packed, dim, size), made.data), (size, dim))
        self.assertEqual(MXFP4Tensor(torch.tensor([.5, 6.])).to_packed_tensor(0).tolist(), [0x71])
        with self.assertRaises(ValueError):
            MXFP4Tensor()


class Scales(unittest.TestCase):
    def test_numbers(self):
        values = torch.tensor([1, 2, 3.9, .5, 2.0**-127, 2.0**127, 0, -1, float("nan"), float("inf")])
        self.assertEqual(MXScaleTensor(values).data.tolist(), [127, 128, 128, 126, 0, 254, 255, 255, 255, 255])
        back = MXScaleTensor(values).to(torch.float32)
        self.assertEqual(back[:4].tolist(), [1, 2, 2, .5])
        self.assertTrue(back[6:].isnan().all())

    def test_random(self):
        made = MXScaleTensor(size=1000).random(1 / 128, 2.0).data
        self.assertEqual((made.min().item(), made.max().item()), (120, 128))
        self.assertLess(MXScaleTensor(size=(10, 10)).random().data.max().item(), 255)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
