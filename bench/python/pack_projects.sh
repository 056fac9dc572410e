#!/usr/bin/env bash
# Lays out what bench/python/projects.py runs, as it is, in a folder (build/gpu/projects) to take to a GPU machine:
#   pack_projects.sh LIGER_KERNEL FLASH_LINEAR_ATTENTION UNSLOTH [FOLDER]     each a git repository, bare or not; its HEAD is taken
# With einops, which fla imports, where python3 (or $PYTHON) has it.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,4p' "$0" | cut -c3-; exit 2; }
out=${4:-$(cd "$(dirname "$0")/../.." && pwd)/build/gpu/projects}
rm -rf "$out"
mkdir -p "$out"

take() { # REPOSITORY PATH..
    git -C "$1" archive HEAD "${@:2}" | tar -x -C "$out"
}

take "$1" src/liger_kernel/__init__.py src/liger_kernel/utils.py src/liger_kernel/ops
mv "$out/src/liger_kernel" "$out" && rmdir "$out/src"
take "$2" fla
take "$3" unsloth/device_type.py unsloth/bnb_availability.py unsloth/kernels
rm -rf "$out"/unsloth/kernels/moe/{benchmark,tests} "$out"/liger_kernel/ops/{backends/_[a-z]*,cute,cutedsl,cutile} # nothing of Triton's
einops=$("${PYTHON:-python3}" -c 'import einops, os; print(os.path.dirname(einops.__file__))' 2>/dev/null) && cp -r "$einops" "$out"
find "$out" -name __pycache__ -prune -exec rm -rf {} +
for repository in "$1" "$2" "$3"; do
    git -C "$repository" log -1 --format='%H %ci' HEAD
done >"$out/revisions"
du -sk --apparent-size "$out"
