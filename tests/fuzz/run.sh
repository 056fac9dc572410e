#!/usr/bin/env bash
# Fuzzes every reader under ASan and UBSan, TILEC_FUZZ_SECONDS each (600 by default); new inputs that reach new
# code join the corpus in build/fuzz, findings stop the run. `run.sh NAME...` fuzzes only those.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${TILEC_FUZZ_SECONDS:-600}
cmake -G Ninja -B build/fuzz -S . -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTILEC_FUZZ=ON \
    -DTILEC_SANITIZE=address,undefined -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ >/dev/null
cmake --build build/fuzz -j "$(nproc)"
names=("$@")
if [ ${#names[@]} = 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        names+=("$(basename "$source" .c)")
    done
fi
for name in "${names[@]}"; do
    mkdir -p "build/fuzz/corpus/$name"
    printf '\n== %s, %s s\n' "$name" "$seconds"
    "build/fuzz/tests/fuzz/${name}_libfuzzer" -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -verbosity=0 -artifact_prefix="build/fuzz/$name-" "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name"
done
