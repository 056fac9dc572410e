#!/usr/bin/env bash
# Everything CI runs, after `./dev` has set the machine up: formatting, a release build with gcc, a checked
# build with clang under ASan, UBSan and LeakSanitizer, the threads' tests under TSan. The last line counts tests.
#   run_all.sh LLVM_BIN
set -euo pipefail
cd "$(dirname "$0")/.."
llvm_bin=$1
jobs=$(nproc)
mkdir -p build
log=build/test.log
: >"$log"

step() { printf '\n== %s (%ss)\n' "$*" "$SECONDS"; }

configure() { # name cmake-arguments...
    local name=$1
    shift
    cmake -G Ninja -B "build/$name" -S . "$@" >"build/$name.log" 2>&1 || { cat "build/$name.log"; return 1; }
}

build() { # name targets...: all, where none is named
    cmake --build "build/$1" -j "$jobs" ${2:+--target "${@:2}"} >>"build/$1.log" 2>&1 || { tail -n 60 "build/$1.log"; return 1; }
}

# Long tests start first, so that none is left alone at the end: ctest goes by what they took the last time, and in a
# fresh clone by tests/costs/NAME.txt.
order_tests() { # name
    local kept=build/$1/Testing/Temporary/CTestCostData.txt
    if [ ! -e "$kept" ] && [ -e "tests/costs/$1.txt" ]; then
        mkdir -p "$(dirname "$kept")"
        cp "tests/costs/$1.txt" "$kept"
    fi
}

# The programs of the tests with a label; what these need at run time they depend on.
programs_of() { # name label
    ctest --test-dir "build/$1" -N -L "$2" | sed -nE 's/^ *Test +#[0-9]+: ([a-z0-9_]+)$/test_\1/p'
}

run_ctest() { # name ctest-arguments...
    local name=$1
    shift
    order_tests "$name"
    if ! ctest --test-dir "build/$name" -j "$jobs" --no-tests=error -V "$@" >"build/$name-test.log" 2>&1; then
        # Ctest's list of the failed tests, then what each of them said: a log that is cut keeps its end.
        tail -n 20 "build/$name-test.log"
        sed -nE 's/^[[:space:]]+([0-9]+) - .* \(.*\)$/\1/p' "build/$name-test.log" | while read -r number; do
            grep -E "^$number: " "build/$name-test.log" | grep -vE '^[0-9]+: \[ +(RUN|OK) +\]' | tail -n 60
        done
        return 1
    fi
    cat "build/$name-test.log" >>"$log"
    grep -E 'tests passed|Total Test time' "build/$name-test.log"
}

step "formatting"
git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format --dry-run -Werror

step "release, gcc"
configure release -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
build release
run_ctest release

step "checked, clang, ASan + UBSan + LeakSanitizer"
# Assertions stay, and what sanitizers see; code without any optimisation takes four times as long.
configure checked -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g1" "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1" \
    -DTILEC_CHECKED=ON -DTILEC_SANITIZE=address,undefined -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
build checked
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
run_ctest checked

step "threads, gcc, TSan"
configure tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTILEC_SANITIZE=thread \
    -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
mapfile -t programs < <(programs_of tsan threads)
build tsan "${programs[@]}"
run_ctest tsan -L threads

# cmocka, lit, unittest and the kernel check each say how many they ran.
count=$(sed -nE 's/^[0-9]+: +//; s/^\[ +PASSED +\] ([0-9]+) test.*/\1/p; s/^ *Passed *: *([0-9]+).*/\1/p; s/^Ran ([0-9]+) tests? in .*/\1/p; s/^kernels: ([0-9]+) passed.*/\1/p' "$log" |
    awk '{ n += $1 } END { print n + 0 }')
step "done"
[ "$count" -gt 0 ] || { echo "no test was counted" >&2; exit 1; }
echo "tests: $count passed, 0 failed"
