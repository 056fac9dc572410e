#!/usr/bin/env python3
"""The GPU's side of agree.py: gpu_batch.py FOLDER FIRST COUNT RESULT, as sim_batch.c describes it.

A launch after which the GPU's context is unusable ends the process with status 4; the caller goes on with the next
launch in a new one. Needs NumPy and the CUDA driver; ptxas, where there is one, takes what the driver refuses."""
import ctypes as c
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

STICKY = 4
NOT_READY, LAUNCH_LIMIT = 600, 4  # seconds
JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES = 5, 6
FUNCTION_DYNAMIC_SHARED = 8
PTXAS = os.environ.get("TILEC_PTXAS") or "ptxas"


class DriverError(Exception):
    pass


class Hangs(DriverError):
    pass


class Driver:
    def __init__(self):
        self.cuda = c.CDLL("libcuda.so.1")
        device, self.context = c.c_int(), c.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", c.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", c.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        code = getattr(self.cuda, name)(*args)
        if code:
            text = c.c_char_p()
            self.cuda.cuGetErrorName(code, c.byref(text))
            raise DriverError(f"{name}: {text.value.decode() if text.value else code}")

    def load(self, ptx):
        module, log = c.c_void_p(), c.create_string_buffer(4096)
        options = (c.c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES)
        values = (c.c_void_p * 2)(c.addressof(log), len(log))
        try:
            self.call("cuModuleLoadDataEx", c.byref(module), c.c_char_p(ptx + b"\0"), 2, options, values)
            return module
        except DriverError as error:
            said = f"{error}: {log.value.decode(errors='replace').strip()[:300]}"
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = os.path.join(folder, "a.ptx"), os.path.join(folder, "a.cubin")
            with open(source, "wb") as file:
                file.write(ptx)
            try:
                process = subprocess.run([PTXAS, "-arch=sm_90a", "-o", cubin, source], capture_output=True, text=True, timeout=60)
            except (OSError, subprocess.TimeoutExpired):
                raise DriverError(said) from None
            if process.returncode:
                raise DriverError(said + "; ptxas: " + process.stderr.strip()[:300])
            with open(cubin, "rb") as file:
                image = file.read()
        return self.load_cubin(image)

    def load_cubin(self, image):
        module = c.c_void_p()
        self.call("cuModuleLoadData", c.byref(module), c.c_char_p(image))
        return module

    def finish(self):
        """Waits for what was launched, but not for ever."""
        end = time.monotonic() + LAUNCH_LIMIT
        while (code := self.cuda.cuStreamQuery(None)) == NOT_READY:
            if time.monotonic() > end:
                raise Hangs(f"no end after {LAUNCH_LIMIT} s")
            time.sleep(0.0002)
        if code:
            self.call("cuCtxSynchronize")
            raise DriverError(f"cuStreamQuery: {code}")


class TensorMap:
    """What cuTensorMapEncodeTiled takes: array, type, rank, interleave, swizzle, promotion, fill, extents, strides, box
    and element strides."""

    def __init__(self, words):
        self.array, self.dtype, self.rank = words[:3]
        self.modes, rest, rank = words[3:7], words[7:], words[2]
        self.dims, self.strides = rest[:rank], rest[rank:2 * rank - 1]
        self.box, self.steps = rest[2 * rank - 1:3 * rank - 1], rest[3 * rank - 1:]

    def encode(self, driver, buffers):
        room = (c.c_uint8 * 192)()
        place = c.addressof(room) + -c.addressof(room) % 64
        longs, ints = (lambda v: (c.c_uint64 * max(1, len(v)))(*v)), (lambda v: (c.c_uint32 * len(v))(*v))
        driver.call("cuTensorMapEncodeTiled", c.c_void_p(place), c.c_int(self.dtype), c.c_uint32(self.rank),
                    c.c_void_p(buffers[self.array][0].value), longs(self.dims), longs(self.strides), ints(self.box), ints(self.steps),
                    *[c.c_int(mode) for mode in self.modes])
        encoded = (c.c_uint8 * 128).from_address(place)
        encoded.room = room  # keeps what it lies in
        return encoded


class Batch:
    def __init__(self, folder, result):
        self.folder = folder
        self.driver = Driver()
        self.data, self.ptx, self.module, self.failure = {}, None, None, None
        self.arrays, self.verdicts = open(result + ".bin", "wb"), open(result + ".txt", "w")

    def slice(self, word):
        name, offset, size = word.split(":")
        if name not in self.data:
            self.data[name] = np.fromfile(os.path.join(self.folder, name), np.uint8)
        return self.data[name][int(offset):int(offset) + int(size)]

    def use_module(self, ptx):
        if ptx != self.ptx:
            if self.module:
                self.driver.call("cuModuleUnload", self.module)
            self.ptx, self.module, self.failure = ptx, None, None
            cubin = os.path.join(self.folder, ptx[:-4] + ".cubin")
            with open(cubin if os.path.exists(cubin) else os.path.join(self.folder, ptx), "rb") as file:
                image = file.read()
            try:
                self.module = self.driver.load_cubin(image) if os.path.exists(cubin) else self.driver.load(image)
            except DriverError as error:
                self.failure = str(error)

    def launch(self, words):
        """The verdict; writes the arrays, as they were before where the launch fails."""
        ptx, name, *rest = words
        sizes = [int(w) for w in rest[:7]]
        host, params, buffers, sticky = [], [], [], False
        for word in rest[7:]:
            kind, value = word[0], word[1:]
            if kind == "i":
                params.append(c.c_uint64(int(value, 0) & (1 << 64) - 1))
            elif kind == "t":
                params.append(TensorMap([int(w) for w in value.split(":")]))
            elif kind == "s":
                data = self.slice(value)
                params.append((c.c_uint8 * len(data) ).from_buffer_copy(data.tobytes()))
            else:
                array = np.full(int(value), 0xcd, np.uint8) if kind == "w" else self.slice(value).copy()
                host.append((kind, array))
                params.append(c.c_uint64())
                buffers.append((params[-1], array, kind))
        try:
            self.use_module(ptx)
            if self.failure:
                raise DriverError(self.failure)
            self.run(name.encode(), sizes, params, buffers)
            verdict = "ok"
        except DriverError as error:
            verdict, sticky = str(error), isinstance(error, Hangs)
            if not sticky:
                try:
                    self.driver.call("cuCtxSynchronize")
                except DriverError:
                    sticky = True
        for kind, array in host:
            if kind != "r":
                self.arrays.write(array.tobytes())
        self.arrays.flush()
        self.verdicts.write(" ".join(verdict.split()) + "\n")
        self.verdicts.flush()
        if sticky:
            os._exit(STICKY)

    def run(self, name, sizes, params, buffers):
        call, function = self.driver.call, c.c_void_p()
        call("cuModuleGetFunction", c.byref(function), self.module, name)
        if sizes[6] > 48 << 10:
            call("cuFuncSetAttribute", function, FUNCTION_DYNAMIC_SHARED, sizes[6])
        for pointer, array, _ in buffers:
            call("cuMemAlloc_v2", c.byref(pointer), c.c_size_t(len(array)))
            call("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(c.c_void_p), c.c_size_t(len(array)))
        for i, param in enumerate(params):
            if isinstance(param, TensorMap):
                params[i] = param.encode(self.driver, buffers)
        addresses = (c.c_void_p * (len(params) + 1))(*[c.addressof(p) for p in params], 0)
        call("cuLaunchKernel", function, *sizes, None, addresses, None)
        self.driver.finish()
        for pointer, array, kind in buffers:
            if kind != "r":
                call("cuMemcpyDtoH_v2", array.ctypes.data_as(c.c_void_p), pointer, c.c_size_t(len(array)))
            call("cuMemFree_v2", pointer)


def main():
    folder, first, count, result = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    with open(os.path.join(folder, "launches.txt")) as file:
        lines = file.read().splitlines()
    batch, end = Batch(folder, result), float(os.environ.get("AGREE_DEADLINE", "inf"))
    for line in lines[first:first + count]:
        if time.time() > end:
            sys.exit("the time is up")
        batch.launch(line.split())


if __name__ == "__main__":
    main()
