"""Memory that kernels of Triton ask for when they are launched. Those of tilec ask for none: what is set here is kept and not called."""
from contextvars import ContextVar


class NullAllocator:
    """What there is before a program sets one."""

    def __call__(self, size, alignment, stream):
        raise RuntimeError("Kernel requires a runtime memory allocation, but no allocator was set. Use triton.set_allocator to specify "
                           "an allocator.")


class _AllocatorWrapper:
    """The same for the whole process, with a ContextVar's get() and set()."""

    def __init__(self, allocator):
        self._allocator = allocator

    def get(self):
        return self._allocator

    def set(self, allocator):
        self._allocator = allocator

    def __call__(self, size, alignment, stream):
        return self._allocator(size, alignment, stream)


_NULL_ALLOCATOR = NullAllocator()
_allocator = ContextVar("_allocator", default=_NULL_ALLOCATOR)
_profile_allocator = _AllocatorWrapper(_NULL_ALLOCATOR)


def set_allocator(allocator):
    """allocator(size, alignment, stream) -> an object with data_ptr(), for this thread and context."""
    _allocator.set(allocator)


def set_profile_allocator(allocator):
    _profile_allocator.set(_NULL_ALLOCATOR if allocator is None else allocator)


def has_profile_allocator():
    return not isinstance(_profile_allocator.get(), NullAllocator)
