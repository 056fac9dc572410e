"""neovim.py TILEC: a session of Neovim with the server, where there is one (neovim.lua)."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NVIM = shutil.which("nvim")
if not NVIM:
    print("nvim is missing")
    sys.exit(77)
with open(os.path.join(HERE, "..", "..", "kernels", "softmax.tile"), encoding="utf-8") as source:
    text = source.read()
text = text.replace("@triton.jit", '# tilec: -s "*fp32, *fp32, i32, i32, i32, 1024"\n@triton.jit').replace("tl.exp(", "tl.expp(")
with tempfile.TemporaryDirectory() as folder:
    kernel = os.path.join(folder, "softmax.tile")
    with open(kernel, "w", encoding="utf-8") as file:
        file.write(text)
    environment = {**os.environ, "TILEC": os.path.abspath(sys.argv[1]), "KERNEL": kernel, "HOME": folder, "XDG_STATE_HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder,
                   "XDG_CACHE_HOME": folder}
    done = subprocess.run([NVIM, "--headless", "--clean", "-n", "-S", os.path.join(HERE, "neovim.lua")], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=150)
    print(done.stdout + done.stderr)
    sys.exit(done.returncode)
