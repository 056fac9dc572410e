"""What goes wrong with kernels beside their source."""
from tilec.triton.errors import TritonError


class _WithMessage(TritonError):
    prefix = ""

    def __init__(self, error_message=None):
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self):
        return self.prefix + (self.error_message or "")


class InterpreterError(_WithMessage):
    """A kernel failed on a device that is this machine."""


def finding(error):
    """A tilec.KernelError of a device that is this machine as an InterpreterError, too; others as they are."""
    from tilec import _fault

    if not any(said.program for said in error.diagnostics):
        return error
    kind = type(error)
    made = type(kind.__name__, (kind, InterpreterError), {"__module__": kind.__module__, "__str__": Exception.__str__,
                                                          "__reduce__": lambda self: (kind, self.args)})
    return made(str(error))


class PTXASError(_WithMessage):
    """ptxas refused what the compiler made, or is not there."""

    prefix = "PTXAS error: "


class AutotunerError(_WithMessage):
    """Configurations could not be compared."""

    prefix = "Autotuner error: "


class OutOfResources(TritonError):
    """A kernel needs more of something than the GPU has."""

    def __init__(self, required, limit, name):
        super().__init__(required, limit, name)
        self.required, self.limit, self.name = required, limit, name

    def __str__(self):
        return (f"out of resource: {self.name}, Required: {self.required}, Hardware limit: {self.limit}. "
                "Reducing block sizes or `num_stages` may help.")
