"""Kernels tested on a machine without a GPU: `pip install` of the wheel `tilec`, NumPy and pytest, then

    pytest examples/python/test_kernels.py

The kernels are in kernels.py, as they are for a GPU. Calls with arrays of NumPy, or tensors of torch's that lie on the CPU, run on the
interpreter; with TILEC_DEVICE=sim the same kernels are compiled for a GPU and their PTX runs on the simulator, which sees what threads do to
each other. Two of the kernels are wrong, and what is found is what the tests below expect."""
import kernels
import numpy as np
import pytest
import tilec


@pytest.fixture(params=["cpu", "sim"])
def device(request, monkeypatch):
    """Both ways of running a kernel here."""
    monkeypatch.setenv("TILEC_DEVICE", request.param)
    return request.param


def scaled(kernel, n):
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    kernel[(-(-n // 64),)](x, y, n, BLOCK=64)
    return x, y


def test_scale(device):
    x, y = scaled(kernels.scale, 100)
    np.testing.assert_array_equal(y, 2 * x)


def test_scale_without_a_mask(device):
    """100 is no multiple of 64: the second program goes beyond both arrays."""
    with pytest.raises(tilec.OutOfBounds) as caught:
        scaled(kernels.scale_without_mask, 100)
    said = caught.value.diagnostics[0]
    assert (said.path, said.line) == (kernels.__file__, kernels.line_of("tl.load(x + i)  # no mask"))
    assert device == "sim" or said.program == (1, 0, 0)  # a block of a GPU may have several programs


def test_sum(device):
    x, total = np.arange(256, dtype=np.float32), np.zeros(1, np.float32)
    kernels.total_of[(4,)](x, total, BLOCK=64)
    assert total[0] == x.sum()


def test_sum_without_atomics(monkeypatch):
    """Programs add to one element by a load and a store: which of them is lost depends on the GPU's mood. The simulator names both."""
    monkeypatch.setenv("TILEC_DEVICE", "sim")
    x, total = np.arange(256, dtype=np.float32), np.zeros(1, np.float32)
    with pytest.raises(tilec.Race) as caught:
        kernels.total_without_atomics[(4,)](x, total, BLOCK=64)
    assert caught.value.diagnostics[0].line == kernels.line_of("tl.store(total, tl.load(total) + part)")
    assert "races with" in str(caught.value)
