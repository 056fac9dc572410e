"""Triton's module that builds its IR. Nothing of it is here but the name that others import."""


class TritonSemantic:
    def __init__(self, *args, **keywords):
        raise NotImplementedError("triton.language.semantic.TritonSemantic is not in tilec: it builds Triton's IR; what it does for "
                                  "kernels is the compiler's")
