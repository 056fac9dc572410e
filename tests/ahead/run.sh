#!/usr/bin/env bash
# Kernels ahead of time, as a user would: a manifest to a bundle and to C, programs in C and C++ that launch them on the fake driver, on two
# targets, with libtilec and with libtilec-run.
#   run.sh TILEC LIBTILEC LIBTILEC_RUN_A FAKE_CUDA WORK_FOLDER C_COMPILER CXX_COMPILER
set -euo pipefail
tilec=$1 library=$2 run=$3 fake=$4 work=$5 cc=$6 cxx=$7
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
fail() { echo "run.sh: $*" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work/driver"
cd "$work"
ln -s "$fake" driver/libcuda.so.1
export TILEC_CACHE_DIR=none TILEC_PTXAS=none LD_LIBRARY_PATH=$work/driver:$(dirname "$library")

# The same bytes from the same input, on one thread and on several.
"$tilec" compile "$here/manifest.json" -o k.bundle -j 1
"$tilec" compile "$here/manifest.json" -o again.bundle -j 3
cmp k.bundle again.bundle
"$tilec" compile "$here/manifest.json" -o k.c -j 2

flags=(-Wall -Wextra -Werror -I. -I"$root/include" -I"$root/src" -I"$here/../runtime")
"$cc" -std=c11 -O1 "${flags[@]}" -pedantic -c k.c -o k.o
"$cxx" -std=c++11 -O1 "${flags[@]}" -pedantic -x c++ -c k.c -o k_cpp.o
others=$(nm k.o | awk 'NF == 3 && $2 ~ /^[A-Z]$/ && $3 !~ /^k_/ { print $3 }')
[ -z "$others" ] || fail "k.c also defines $others"

"$cc" -std=gnu11 -DWITH_COMPILER "${flags[@]}" "$here/launches.c" k.o -o with_compiler "$library" -ldl -pthread
"$cc" -std=gnu11 "${flags[@]}" "$here/launches.c" k_cpp.o -o without "$run" -ldl -pthread
for capability in "8 0" "9 0"; do
    # shellcheck disable=SC2086
    ./with_compiler k.bundle "$root/kernels" $capability
    # shellcheck disable=SC2086
    ./without k.bundle "$root/kernels" $capability
done

# A header that C++ takes.
echo '#include "k.h"
int main() { return k_softmax_fp32_fp32(nullptr, 1, 1, 1, 0, 0, 0, 0, 0, 256) == K_NO_DRIVER ? 0 : 1; }' >uses.cpp
"$cxx" -std=c++11 "${flags[@]}" uses.cpp k.o -o uses -ldl -pthread
if [ ! -e /usr/lib/x86_64-linux-gnu/libcuda.so.1 ]; then LD_LIBRARY_PATH= ./uses; fi

# Names of parameters and kernels that C, C++, compilers, headers or the file itself have, also with the file's name in front; literals that C
# has not. Nothing is a warning, in C and in C++, as the standards and as GNU have them.
"$tilec" compile "$here/names.json" -o grid.c
"$tilec" compile "$here/names.json" -o recipe.c
for file in grid recipe; do
    for standard in c11 gnu11 gnu17; do "$cc" -std=$standard "${flags[@]}" -pedantic -c $file.c -o $file.o; done
    for standard in c++11 gnu++17 gnu++20; do
        "$cxx" -std=$standard "${flags[@]}" -pedantic -x c++ -c $file.c -o $file.o
        echo "#include \"$file.h\"" | "$cxx" -std=$standard "${flags[@]}" -pedantic -x c++ -fsyntax-only -
    done
done
cd /
rm -rf "$work"
