"""Compilations by other threads: within `with AsyncCompileMode(executor):` calls of warmup() return at once."""
from concurrent.futures import as_completed
from contextvars import ContextVar

active_mode = ContextVar("async_compile_active_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled; its attributes wait for that."""

    def __init__(self, finalize_compile, cleanup_compile, future):
        self.finalize_compile, self.cleanup_compile, self.future = finalize_compile, cleanup_compile, future
        self.kernel = None

    def result(self, ignore_errors=False):
        """The CompiledKernel; None for one that failed, if errors are ignored."""
        if self.kernel is None:
            try:
                kernel = self.future.result()
            except Exception:
                self.cleanup_compile(self)
                self.future = None
                if ignore_errors:
                    return None
                raise
            self.kernel, self.future = kernel, None
            self.finalize_compile(kernel)
        return self.kernel

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.result(), name)

    def __getitem__(self, grid):
        return self.result()[grid]


class AsyncCompileMode:
    """`executor`: of threads, since what is compiled belongs to this process. `ignore_errors`: what fails fails when it is called."""

    def __init__(self, executor, *, ignore_errors=False):
        self.executor, self.ignore_errors = executor, ignore_errors
        self.raw_futures, self.future_kernels = [], {}

    def submit(self, key, compile_fn, finalize_fn, cleanup_fn):
        found = self.future_kernels.get(key)
        if found is None:
            future = self.executor.submit(compile_fn)
            future._key = key
            self.raw_futures.append(future)
            found = self.future_kernels[key] = FutureKernel(finalize_fn, cleanup_fn, future)
        return found

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, kind, value, traceback):
        active_mode.set(None)
        try:
            for future in as_completed(self.raw_futures):
                kernel = self.future_kernels[future._key]
                if kernel.future is not None:
                    kernel.result(self.ignore_errors)
        finally:
            self.raw_futures, self.future_kernels = [], {}
