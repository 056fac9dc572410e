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

configure_and_build() { # name cmake-arguments...
    local name=$1
    shift
    cmake -G Ninja -B "build/$name" -S . "$@" >"build/$name.log" 2>&1 || { cat "build/$name.log"; return 1; }
    cmake --build "build/$name" -j "$jobs" >>"build/$name.log" 2>&1 || { tail -n 60 "build/$name.log"; return 1; }
}

run_ctest() { # name ctest-arguments...
    local name=$1
    shift
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
configure_and_build release -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
run_ctest release

step "checked, clang, ASan + UBSan + LeakSanitizer"
# Assertions stay, and what sanitizers see; code without any optimisation takes four times as long.
configure_and_build checked -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g1" "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1" \
    -DTILEC_CHECKED=ON -DTILEC_SANITIZE=address,undefined -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
run_ctest checked

step "threads, gcc, TSan"
configure_and_build tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTILEC_SANITIZE=thread \
    -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
run_ctest tsan -L threads

# cmocka, lit, unittest and the kernel check each say how many they ran.
count=$(sed -nE 's/^[0-9]+: +//; s/^\[ +PASSED +\] ([0-9]+) test.*/\1/p; s/^ *Passed *: *([0-9]+).*/\1/p; s/^Ran ([0-9]+) tests? in .*/\1/p; s/^kernels: ([0-9]+) passed.*/\1/p' "$log" |
    awk '{ n += $1 } END { print n + 0 }')
step "done"
[ "$count" -gt 0 ] || { echo "no test was counted" >&2; exit 1; }
echo "tests: $count passed, 0 failed"
