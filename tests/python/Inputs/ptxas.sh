#!/bin/sh
# What ptxas says of its version.
echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'
echo 'Cuda compilation tools, release 13.1, V13.1.80'
