#!/bin/sh
# ptxas that spills, $SPILLED bytes or 8, in 64 registers, unless it may use every register: then it takes $ALL or 72. -v -O3 -arch ARCH INPUT -o OUTPUT [-lineinfo]
spilled=${SPILLED:-8}
grep -q '^\.minnctapersm 1' "$5" && ! grep -q '^\.maxnreg' "$5" && spilled=0
printf '\177ELF spills %d' $spilled >"$7"
kernel=$(sed -n 's/^\.visible \.entry \([a-z_]*\)(.*/\1/p' "$5")
echo "ptxas warning : one a run"
echo "ptxas info    : Function properties for $kernel"
echo "    $spilled bytes stack frame, $spilled bytes spill stores, $spilled bytes spill loads"
echo "ptxas info    : Used $((spilled > 0 ? 64 : ${ALL:-72})) registers, used 0 barriers"
