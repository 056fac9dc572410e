#!/usr/bin/env bash
# Everything of interest on a GPU machine that has torch and Triton but nothing to build with: unpacks what `./dev
# pack` made (build/gpu/tilec.tar.xz), checks every kernel on the GPU against float64, then runs the benchmark.
#   bench/gpu.sh [check|order|ops|conformance|record|agree|sanitize|public|contest|beside|rows|matmul|fp8|linear|attention|backward|decode|sweep|compile|llm|server|times|launch|tune|generated|python|suite|programs|inductor|projects|bench ...]     default: check ops rows compile
# `public` judges by the kernels in the folder that TILEC_PUBLIC_KERNELS names (tests/e2e/public), `contest` times them; `beside` times the
# libtilec.so that TILEC_OLD_LIB names in the same run. Logs, JSON and tables in Markdown go to $OUT, else build/gpu.
set -uo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-build/gpu}
root=build/gpu/root
mkdir -p "$root" "$out"
tar -xJf build/gpu/tilec.tar.xz -C "$root"
tilec=$PWD/$root/src/cli/tilec
export TILEC_CACHE_DIR=$(mktemp -d) LD_LIBRARY_PATH=$PWD/$root/src/runtime PYTHONPATH=$PWD/$root/python
python3 -m compileall -q "$root/python" # as pip does where it installs
status=0
[ $# != 0 ] || set -- check ops rows compile
for what in "$@"; do
    case $what in
    check)
        "$tilec" version
        python3 tests/e2e/kernels/check.py --tilec "$tilec" --device cuda --large 2>&1 | tee "$out/check.log" || status=1
        ;;
    order)
        python3 tests/e2e/kernels/memory_order.py --tilec "$tilec" --device cuda 2>&1 | tee "$out/order.log" || status=1
        ;;
    ops)
        python3 tests/gpu/run.py --tilec "$tilec" 2>&1 | tee "$out/ops.log" || status=1
        python3 tests/e2e/language/run.py --tilec "$tilec" --device cuda 2>&1 | tee "$out/language.log" || status=1
        python3 tests/e2e/libdevice/run.py --tilec "$tilec" --device cuda 2>&1 | tee "$out/libdevice.log" || status=1
        ;;
    conformance)
        python3 tests/e2e/conformance/run.py --tilec "$tilec" --device cuda -j 16 2>&1 | tee "$out/conformance.log" || status=1
        ;;
    record) # what Triton leaves of the rows: for tests/e2e/conformance/recorded
        PYTHONPATH= python3 tests/e2e/conformance/record.py --out "$out/recorded" 2>&1 | tee "$out/record.log" || status=1
        ;;
    agree)
        python3 tests/gpu/agree/agree.py --build "$root" --out "$out" 2>&1 | tee "$out/agree.log" || status=1
        ;;
    sanitize)
        for tool in memcheck racecheck synccheck; do
            python3 tests/e2e/kernels/check.py --tilec "$tilec" --device cuda --under "compute-sanitizer --tool $tool --error-exitcode 9" \
                2>&1 | tee "$out/$tool.log" || status=1
        done
        ;;
    public)
        python3 tests/e2e/public/run.py --device cuda --tilec "$tilec" --lib "$root/src/runtime/libtilec.so" -j 16 --limit 150 --budget 450 \
            --out "$out/public.jsonl" 2>"$out/public.err" | tee "$out/public.log" || status=1
        ;;
    contest) # public kernels' times beside Triton's, and beside TILEC_OLD_LIB's where that is named
        python3 bench/public.py --lib "$root/src/runtime/libtilec.so" ${TILEC_OLD_LIB:+--old "$TILEC_OLD_LIB"} --budget 520 \
            --out "$out/contest.jsonl" 2>"$out/contest.err" | tee "$out/contest.log" || status=1
        ;;
    beside)
        python3 bench/beside.py --old "${TILEC_OLD_LIB:?names the libtilec.so to compare with}" --new "$root/src/runtime/libtilec.so" \
            --json "$out/beside.json" 2>&1 | tee "$out/beside.log" || status=1
        ;;
    rows | matmul | fp8 | linear | attention | backward | decode | compile)
        python3 bench/bench.py --build "$root" --only "$what" --json "$out/$what.json" --markdown "$out/$what.md" 2>&1 | tee "$out/$what.log" || status=1
        ;;
    sweep) # shapes between those of the tables, against the libraries alone
        for part in rows matmul fp8 attention backward decode; do
            python3 bench/bench.py --build "$root" --only $part --sweep --peers 'cublas|cudnn|copy' --json "$out/sweep-$part.json" 2>&1 |
                tee "$out/sweep-$part.log" || status=1
        done
        ;;
    launch)
        python3 bench/launch.py --build "$root" --json "$out/launch.json" 2>&1 | tee "$out/launch.log" || status=1
        ;;
    tune)
        python3 bench/tune.py --build "$root" --json "$out/tune.json" 2>&1 | tee "$out/tune.log" || status=1
        ;;
    generated)
        python3 bench/generated.py --tilec "$tilec" --json "$out/generated.json" 2>&1 | tee "$out/generated.log" || status=1
        ;;
    python) # beginnings and launches of the package
        python3 bench/python/start.py 2>&1 | tee "$out/python-start.log" || status=1
        python3 bench/python/launch.py 2>&1 | tee "$out/python-launch.log" || status=1
        ;;
    suite) # Triton's tests, which the folder TRITON_TESTS has
        SUITE_PYTHON=python3 SUITE_RESULTS="$out/suite.tsv" tests/python/suite.sh "$root" cuda >"$out/suite.log" 2>&1 || status=1
        grep -E '^test_.*::|^NOT AS|^suite:' "$out/suite.log" | cut -c1-300
        ;;
    programs) # scripts of the folder TRITON_SCRIPTS
        python3 bench/python/programs.py "${TRITON_SCRIPTS:?}"/*.py --out "$out/programs" 2>&1 | tee "$out/programs.log" || status=1
        ;;
    inductor)
        python3 bench/python/inductor.py 2>&1 | tee "$out/inductor.log" || status=1
        ;;
    projects) # packages of public projects in the folder TRITON_PROJECTS, as bench/python/pack_projects.sh lays them out
        python3 bench/python/projects.py "${TRITON_PROJECTS:?}" >"$out/projects.log" 2>"$out/projects.err" || status=1
        sed -n '/^|/,$p' "$out/projects.log"
        ;;
    bench)
        for kernel in softmax matmul; do
            vary=()
            [ $kernel = softmax ] || vary=(--vary BLOCK_N="[128, 256]" --vary num_stages="[3, 4]")
            "$tilec" bench --shapes kernels/$kernel.json "${vary[@]}" --csv "$out/bench-$kernel.csv" --svg "$out/bench-$kernel" \
                2>&1 | tee "$out/bench-$kernel.log" || status=1
        done
        ;;
    llm)
        # The example is built here; models are made of random numbers.
        llm=$root/llm
        mkdir -p "$llm"
        {
            cc -O2 -Iinclude examples/llm/*.c -o "$llm/llm" -L"$root/src/runtime" -ltilec -lm &&
                for dtype in fp32 fp16 bf16; do
                    python3 examples/llm/make_weights.py "$llm/$dtype" --dtype $dtype &&
                        python3 examples/llm/reference.py "$llm/$dtype" "$llm/llm" --kernels examples/llm/kernels.tile --steps 64 || exit 1
                done
            python3 examples/llm/make_weights.py "$llm/large" --dtype fp16 --layers 16 --width 2048 --hidden 5632 --heads 32 --heads_k 4 \
                --vocabulary 32000 &&
                tokens=$(seq -s, 1000 1511) &&
                python3 examples/llm/reference.py "$llm/large" "$llm/llm" --kernels examples/llm/kernels.tile --tokens "$tokens" --steps 8 &&
                "$llm/llm" "$llm/large" --kernels examples/llm/kernels.tile --tokens "$tokens" --steps 256 --profile 32 >/dev/null &&
                "$llm/llm" "$llm/large" --kernels examples/llm/kernels.tile --tokens "$tokens" --steps 256 --profile 0 --temperature 0.8 --top-k 50 \
                    >/dev/null
        } 2>&1 | tee "$out/llm.log" || status=1
        ;;
    server)
        {
            cc -O2 -Iinclude examples/server/*.c -o "$root/server" -L"$root/src/runtime" -ltilec -lm -lpthread &&
                for threads in 1 2 4 8 16; do
                    "$root/server" --kernels kernels --threads $threads --seconds 4 || exit 1
                done
        } 2>&1 | tee "$out/server.log" || status=1
        ;;
    times)
        python3 bench/compile_candidates.py --times "$root" 2>&1 | tee "$out/times.log" || status=1
        ;;
    *)
        echo "gpu.sh: unknown step '$what'" >&2
        exit 2
        ;;
    esac
done
exit $status
