"""python -m triton.tools.compile: says which command of tilec's does what is asked for."""
import sys

from tilec.triton.tools import _ahead

compile_kernel = _ahead.function("triton.tools.compile.compile_kernel")


def main():
    _ahead.refuse_compile(sys.argv[1:])


if __name__ == "__main__":
    main()
