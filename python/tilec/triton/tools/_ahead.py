"""Triton's programs that write C files of kernels: tilec's compiler writes such files itself, in a form of its own."""
import shlex
import sys

from tilec.triton import _refused

_CHAPTER = "docs/ahead-of-time.md"
_VALUED = {"--kernel-name": "-k", "-n": "-k", "--signature": "-s", "-s": "-s", "--num-warps": "--num-warps", "-w": "--num-warps",
           "--num-stages": "--num-stages", "-ns": "--num-stages", "--target": "-t", "-t": "-t", "--out-path": "-o", "-o": "-o",
           "--out-name": None, "-on": None, "--grid": None, "-g": None}


def _target(text):
    """"sm_90a" of "cuda:90:32"."""
    from tilec.triton.backends.nvidia.compiler import target_name

    backend, _, arch = text.partition(":")
    return target_name(arch.partition(":")[0]) if backend == "cuda" and arch[:1].isdigit() else text


def _output(value):
    return value if value.endswith(".c") else value + ".c"


def equivalent(arguments):
    """The words of `tilec compile` that do what those of triton.tools.compile ask for."""
    words, path, rest = ["tilec", "compile"], [], list(arguments)
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name not in _VALUED:
            path.append(name)
            continue
        value = value if has_value else rest.pop(0) if rest else ""
        ours = _VALUED[name]
        if ours:
            words += [ours, _target(value) if ours == "-t" else _output(value) if ours == "-o" else value]
    return [*words[:2], *path, *words[2:], *([] if "-o" in words else ["-o", "kernel.c"])]


def refuse_compile(arguments):
    instead = shlex.join(equivalent(arguments)) if arguments else "tilec compile FILE -k KERNEL -s SIGNATURE -o KERNEL.c"
    sys.exit(f"triton.tools.compile is not in tilec, whose C files have another form ({_CHAPTER}). Instead:\n    {instead}")


def refuse_link(arguments):
    sys.exit("triton.tools.link is not in tilec: `tilec compile KERNELS.json -o kernels.c` writes all variants of a kernel that a "
             f"manifest lists, with a function that chooses among them ({_CHAPTER})")


def function(name):
    return _refused.function(name, f"`tilec compile --emit c` writes C files of kernels ({_CHAPTER})")
