"""python -m tilec SCRIPT ARGUMENTS.., -m MODULE .., -c TEXT: runs it with `import triton` meaning tilec."""
import runpy
import sys

import tilec

USAGE = "usage: python -m tilec [-m MODULE | -c TEXT | SCRIPT] [ARGUMENT ..]"


def main(words):
    if not words or words[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if words else 2
    kind, rest = (words[0], words[1:]) if words[0] in ("-m", "-c") else ("", words)
    if not rest:
        print(f"tilec: {kind} wants one more word\n{USAGE}", file=sys.stderr)
        return 2
    tilec.install()
    sys.argv = [kind or rest[0], *rest[1:]]
    if kind == "-c":
        sys.path[0] = ""
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    elif kind == "-m":
        sys.path[0] = ""
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        from os.path import abspath, dirname

        sys.path[0] = dirname(abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
