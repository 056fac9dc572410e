"""The table of the operations of kernels without memory: what each computes, and how it is written.

A row is a function of the operands (values, or numbers of the source) and the attributes; `text` has {0}, {1}.. for
operands and names of attributes. Operations whose result is a tuple say how many `results` they have."""
import numpy as np

from values import Invalid

OPERATIONS = {}
MOST_ELEMENTS = 1 << 15  # of a tile


class Operation:
    def __init__(self, name, text, evaluate, results, helper):
        self.name, self.text, self.evaluate, self.results, self.helper = name, text, evaluate, results, helper


def operation(name, text, results=1, helper=None):
    """`helper`: a function of the source that the text calls."""

    def add(function):
        OPERATIONS[name] = Operation(name, text, function, results, helper)
        return function

    return add


def elementwise(*values):
    try:
        shape = np.broadcast_shapes(*(v.shape for v in values))
    except ValueError as error:
        raise Invalid("shapes that do not fit") from error
    if len(shape) > 4 or int(np.prod(shape)) > MOST_ELEMENTS:
        raise Invalid("a large tile")
    return shape
