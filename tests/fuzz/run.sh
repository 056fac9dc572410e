#!/usr/bin/env bash
# Fuzzes every reader under ASan and UBSan, TILEC_FUZZ_SECONDS each (600 by default), one after the other; new inputs
# that reach new code join the corpus in build/fuzz, what was said is in build/fuzz/<name>.log. A finding ends the run
# with its input in build/fuzz/<name>-*. `run.sh NAME...` fuzzes only those. `generate` is random kernels (tests/e2e/generate),
# by build/release, for an hour unless TILEC_FUZZ_SECONDS says otherwise; failures are in build/fuzz/generate.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "$*" = generate ]; then
    cmake --preset release >/dev/null
    cmake --build build/release --target tilec
    exec /usr/bin/python3 tests/e2e/generate/run.py --tilec build/release/src/cli/tilec --seconds "${TILEC_FUZZ_SECONDS:-3600}" \
        --found build/fuzz/generate
fi
seconds=${TILEC_FUZZ_SECONDS:-600}
names=("$@")
if [ ${#names[@]} = 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        names+=("$(basename "$source" .c)")
    done
fi
cmake -G Ninja -B build/fuzz -S . -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTILEC_FUZZ=ON \
    -DTILEC_SANITIZE=address,undefined -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ >/dev/null
cmake --build build/fuzz -j "$(nproc)" --target "${names[@]/%/_libfuzzer}"
for name in "${names[@]}"; do
    mkdir -p "build/fuzz/corpus/$name"
    options=()
    if [ -f "tests/fuzz/dict/$name.dict" ]; then
        options+=("-dict=tests/fuzz/dict/$name.dict")
    fi
    seeds=()
    for folder in "tests/fuzz/corpus/$name" "build/fuzz/tests/fuzz/seeds/$name"; do
        if [ -d "$folder" ]; then
            seeds+=("$folder")
        fi
    done
    if [ "$name" = fuzz_ptx ]; then
        seeds+=(tests/sim/ptx tests/sim/text)
    fi
    printf '\n== %s, %s s\n' "$name" "$seconds"
    if ! "build/fuzz/tests/fuzz/${name}_libfuzzer" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 "${options[@]}" -artifact_prefix="build/fuzz/$name-" \
        "build/fuzz/corpus/$name" "${seeds[@]}" >"build/fuzz/$name.log" 2>&1; then
        grep -v -E $'\t(NEW|REDUCE|RELOAD|pulse) ' "build/fuzz/$name.log" | tail -60
        echo "run.sh: $name found something; its input: $(ls "build/fuzz/$name"-* | tail -1)" >&2
        exit 1
    fi
    grep -e $'\tDONE ' -e number_of_executed_units "build/fuzz/$name.log"
done
