#!/bin/sh
# ptxas that spills unless it may use every register. -v -O3 -arch ARCH INPUT -o OUTPUT [-lineinfo]
spilled=8
grep -q '^\.minnctapersm 1' "$5" && ! grep -q '^\.maxnreg' "$5" && spilled=0
printf '\177ELF spills %d' $spilled >"$7"
kernel=$(sed -n 's/^\.visible \.entry \([a-z_]*\)(.*/\1/p' "$5")
echo "ptxas warning : one a run"
echo "ptxas info    : Function properties for $kernel"
echo "    $spilled bytes stack frame, $spilled bytes spill stores, $spilled bytes spill loads"
echo "ptxas info    : Used $((72 - spilled)) registers, used 0 barriers"
