"""sizes.py TILEC KERNELS TARGET..: pages of attention with a profile, twice each, and how large they are."""
import os
import subprocess
import sys
import tempfile

MOST = 5_000_000
TILEC, KERNELS, *TARGETS = sys.argv[1:]
ARGUMENTS = [f"{name}_ptr=randn:fp16[1,2,256,64]" for name in "qkv"] + ["o_ptr=zeros:fp16[1,2,256,64]", "lse_ptr=zeros:fp32[1,2,256]"]
ARGUMENTS += [f"{name}=None" for name in ("q_start_ptr", "k_start_ptr", "slopes_ptr")] + ["queries=256", "keys=256", "scale=0.125:fp32"]
ARGUMENTS += [f"stride_{name}{dim}={stride}" for name, rows in zip("qkvo", "mnnm") for dim, stride in (("b", 32768), ("h", 16384), (rows, 64))]
OPTIONS = ["-k", "attention_forward", "-g", "(2,2,1)", "-D", "HEAD_DIM=64", "-D", "BLOCK_M=128", "-D", "BLOCK_N=64", "--num-stages", "3", "--ptxas", "none"]
for argument in ARGUMENTS:
    OPTIONS += ["-a", argument]
failed = False
with tempfile.TemporaryDirectory() as folder:
    for target in TARGETS:
        pages = []
        for _ in range(2):
            path = os.path.join(folder, "page.html")
            subprocess.run([TILEC, "explain", os.path.join(KERNELS, "attention.tile"), *OPTIONS, "-t", target, "-o", path], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with open(path, "rb") as file:
                pages.append(file.read())
        same = pages[0] == pages[1]
        print(f"attention for {target}: {len(pages[0])} bytes, {'the same twice' if same else 'and others the second time'}")
        failed |= not same or len(pages[0]) > MOST
sys.exit(failed)
