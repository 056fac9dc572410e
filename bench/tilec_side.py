"""libtilec through ctypes, for benchmarks: a .tile function launched on torch tensors."""
import ctypes as c
import os

import torch

DTYPES = {torch.bool: 1, torch.int8: 2, torch.int16: 3, torch.int32: 4, torch.int64: 5, torch.uint8: 6, torch.uint16: 7,
          torch.uint32: 8, torch.uint64: 9, torch.float8_e4m3fn: 10, torch.float8_e5m2: 11, torch.float16: 12,
          torch.bfloat16: 13, torch.float32: 14, torch.float64: 15}
POINTER, INT, FLOAT, CONSTEXPR, CONSTEXPR_INT = range(5)


class Text(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_size_t)]


def text(value):
    data = value.encode()
    return Text(data, len(data))


class ContextOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("cache_folder", Text), ("cache_max_bytes", c.c_uint64), ("ptxas", Text),
                ("cuda_library", Text), ("memory_limit", c.c_size_t)]


class Named(c.Structure):
    _fields_ = [("name", Text), ("value", Text)]


class CompileOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("path", Text), ("source", Text), ("kernel", Text), ("signature", Text),
                ("types", c.POINTER(Named)), ("type_count", c.c_size_t), ("constexprs", c.POINTER(Named)),
                ("constexpr_count", c.c_size_t), ("search_paths", c.POINTER(Text)), ("search_path_count", c.c_size_t),
                ("target", Text), ("device", c.c_void_p), ("num_warps", c.c_int32), ("num_stages", c.c_int32),
                ("num_ctas", c.c_int32), ("max_registers", c.c_int32), ("want", c.c_uint32), ("dump_folder", Text),
                ("no_line_info", c.c_bool), ("no_cache", c.c_bool), ("debug", c.c_bool),
                ("no_tensor_copies", c.c_bool), ("no_persistence", c.c_bool), ("max_shared", c.c_int32), ("isolated", c.c_bool),
                ("warnings", c.POINTER(Text)), ("warning_count", c.c_size_t), ("cancellation", c.c_void_p), ("plain_abi", c.c_bool),
                ("files", c.POINTER(Named)), ("file_count", c.c_size_t), ("read_file", c.c_void_p), ("read_user", c.c_void_p),
                ("full_paths", c.c_bool), ("grid", Text)]


class LaunchOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("programmatic", c.c_bool), ("cooperative", c.c_bool), ("cluster", c.c_uint32 * 3)]


class Value(c.Union):
    _fields_ = [("address", c.c_uint64), ("integer", c.c_int64), ("number", c.c_double), ("text", Text)]


class Argument(c.Structure):
    _fields_ = [("kind", c.c_int), ("type", c.c_int), ("value", Value)]


class Tilec:
    """A context and the first device. `cache_folder` "none" switches the cache off."""

    def __init__(self, library, cache_folder="none"):
        self.lib = c.CDLL(library)
        self.lib.tile_diagnostics_text.restype = Text
        self.lib.tile_status_text.restype = c.c_char_p
        options = ContextOptions(size=c.sizeof(ContextOptions), cache_folder=text(cache_folder))
        self.context, self.device, self.functions = c.c_void_p(), c.c_void_p(), {}
        self.call("tile_context_create", c.byref(options), c.byref(self.context))
        self.call("tile_device_open", self.context, 0, c.byref(self.device), diagnostics=True)

    def call(self, name, *arguments, diagnostics=False):
        messages = c.c_void_p()
        if diagnostics:
            arguments += (c.byref(messages),)
        status = getattr(self.lib, name)(*arguments)
        if status:
            detail = self.lib.tile_diagnostics_text(messages).data.decode() if messages else ""
            raise RuntimeError(f"{name}: {self.lib.tile_status_text(status).decode()}\n{detail}")
        if messages:
            self.lib.tile_diagnostics_destroy(messages)

    def compile_options(self, path, kernel, num_warps=0, no_cache=False, num_stages=0, constexprs=(), no_persistence=False):
        named = (Named * max(1, len(constexprs)))(*[Named(text(name), text(value)) for name, value in dict(constexprs).items()])
        return CompileOptions(size=c.sizeof(CompileOptions), path=text(path), kernel=text(kernel), num_warps=num_warps,
                              num_stages=num_stages, constexprs=named, constexpr_count=len(constexprs), device=self.device,
                              no_cache=no_cache, no_persistence=no_persistence)

    def function(self, path, kernel, num_warps=0, num_stages=0, constexprs=(), no_persistence=False):
        """`constexprs`: names to values as Python literals, for every call. Functions are kept, with what they compiled."""
        key = (path, kernel, num_warps, num_stages, tuple(dict(constexprs).items()), no_persistence)
        if key not in self.functions:
            self.functions[key] = self.new_function(path, kernel, num_warps, num_stages, constexprs, no_persistence)
        return self.functions[key]

    def new_function(self, path, kernel, num_warps, num_stages, constexprs, no_persistence):
        handle = c.c_void_p()
        options = self.compile_options(os.path.realpath(path), kernel, num_warps, num_stages=num_stages, constexprs=constexprs,
                                       no_persistence=no_persistence)
        self.call("tile_function_create", self.context, c.byref(options), c.byref(handle), diagnostics=True)
        return handle

    @staticmethod
    def pack(arguments):
        """Tensors, ints and floats; ("constexpr", int) for compile-time values."""
        packed = (Argument * len(arguments))()
        for slot, value in zip(packed, arguments):
            if isinstance(value, torch.Tensor):
                slot.kind, slot.type, slot.value.address = POINTER, DTYPES[value.dtype], value.data_ptr()
            elif isinstance(value, tuple):
                slot.kind, slot.value.integer = CONSTEXPR_INT, value[1]
            elif isinstance(value, int):
                slot.kind, slot.value.integer = INT, value
            else:
                slot.kind, slot.value.number = FLOAT, value
        return packed

    def launch_once(self, path, kernel, grid, arguments):
        packed = self.pack(arguments)
        stream = c.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.call("tile_function_launch", self.function(path, kernel), self.device, (c.c_uint32 * 3)(*grid), stream,
                  packed, c.c_size_t(len(packed)), diagnostics=True)

    def launcher(self, case, num_warps=0):
        """A function that launches the case once on torch's current stream."""
        return self.launch_function(self.function(case.path, case.kernel, num_warps), case.grid,
                                    case.arguments + [("constexpr", case.block)])

    def launch_function(self, function, grid, arguments, programmatic=False):
        """A function that launches the compiled one once on torch's current stream. It keeps the tensors, of which launches know only
        addresses. `programmatic`: the launch may begin before the one before it has ended."""
        tensors, arguments = arguments, self.pack(arguments)
        grid = (c.c_uint32 * 3)(*grid)
        stream = c.c_void_p(torch.cuda.current_stream().cuda_stream)
        launch, device, count = self.lib.tile_function_launch_with, self.device, c.c_size_t(len(arguments))
        options = c.byref(LaunchOptions(size=c.sizeof(LaunchOptions), programmatic=True)) if programmatic else None
        self.call("tile_function_launch_with", function, device, grid, stream, arguments, count, options, diagnostics=True)

        def go():
            status = launch(function, device, grid, stream, arguments, count, options, None)
            if status:
                raise RuntimeError(self.lib.tile_status_text(status).decode())

        go.tensors, go.launched = tensors, 1
        return go

    def prepare(self, function, arguments):
        """Compiles what such a launch needs, or takes it from the cache; launches nothing."""
        packed, found = self.pack(arguments), c.c_void_p()
        self.call("tile_function_instance", function, self.device, packed, c.c_size_t(len(packed)), c.byref(found), diagnostics=True)
