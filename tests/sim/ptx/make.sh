#!/usr/bin/env bash
# Compiles the sources of this folder anew with nvcc, llc and Triton, those that are there; the PTX is in git.
set -euo pipefail
cd "$(dirname "$0")"
for source in *.cu; do
    for arch in sm_80 sm_90a; do
        case $source in cluster.cu | bulk.cu) [ $arch = sm_90a ] || continue ;; esac
        nvcc -ptx -std=c++17 -arch=$arch -o "${source%.cu}.$arch.ptx" "$source"
    done
done
nvcc -ptx -G -std=c++17 -arch=sm_80 -o debug.sm_80.ptx virt.cu
llc=${LLC:-/usr/lib/llvm-22/bin/llc}
"$llc" -O2 -march=nvptx64 -mcpu=sm_80 -mattr=+ptx78 -o llvm.sm_80.ptx llvm.ll
"$llc" -O2 -march=nvptx64 -mcpu=sm_90a -mattr=+ptx87 -o llvm.sm_90a.ptx llvm.ll
"${PYTHON:-/opt/tri/bin/python}" triton_kernels.py
