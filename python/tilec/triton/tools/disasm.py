"""SASS of a cubin, by CUDA's own disassembler."""
import os
import re
import subprocess
import tempfile


def _tool():
    """nvdisasm, or cuobjdump, and the words that it is called with."""
    from tilec.triton import knobs

    try:
        return [knobs.nvidia.nvdisasm.path]
    except RuntimeError:
        return [knobs.nvidia.cuobjdump.path, "-sass"]


def get_sass(cubin_asm, fun=None):
    """Of a cubin as bytes. `fun`: of this kernel alone."""
    with tempfile.NamedTemporaryFile(suffix=".cubin", delete=False) as file:
        file.write(cubin_asm)
    try:
        return extract(file.name, fun)
    finally:
        os.unlink(file.name)


def extract(file_path, fun=None):
    """Of a file. RuntimeError: there is no disassembler, or it refuses the file."""
    done = subprocess.run([*_tool(), file_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{done.args[0]} refuses the cubin: {done.stderr.strip()}")
    return done.stdout if fun is None else _of_kernel(done.stdout, fun)


def _of_kernel(text, name):
    """The part behind a section's name, of either tool."""
    parts = re.split(r"^(?=\s*Function : |\.section\s+\.text\.|//-+ \.text\.)", text, flags=re.MULTILINE)
    return "".join(part for part in parts if re.match(rf"\s*(Function : |\.section\s+\.text\.|//-+ \.text\.){re.escape(name)}\b", part))
