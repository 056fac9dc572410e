"""The root of what this package raises under Triton's names."""


class TritonError(Exception):
    """Whatever Triton's compiler or host code says is wrong."""
