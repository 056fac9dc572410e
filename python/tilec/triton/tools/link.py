"""python -m triton.tools.link: says what of tilec does what is asked for."""
import sys

from tilec.triton.tools import _ahead

link = _ahead.function("triton.tools.link.link")


def main():
    _ahead.refuse_link(sys.argv[1:])


if __name__ == "__main__":
    main()
