#!/bin/sh
# ptxas as the runtime calls it: -v -O3 -arch ARCH INPUT -o OUTPUT [-lineinfo]
printf '\177ELF' >"$7"
kernel=$(sed -n 's/^\.visible \.entry \([a-z_]*\)(.*/\1/p' "$5")
echo "ptxas info    : Function properties for $kernel"
echo "    8 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads"
echo "ptxas info    : Used 42 registers, used 0 barriers"
