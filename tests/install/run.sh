#!/usr/bin/env bash
# Installs the build into an empty folder, then builds and runs a C and a C++ program against it: by CMake's package,
# and the C one by pkg-config after the tree was moved.
#   run.sh BUILD_FOLDER WORK_FOLDER C_COMPILER CXX_COMPILER
set -euo pipefail
build=$1 work=$2 cc=$3 cxx=$4
programs=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work/consumer"
export TILEC_CACHE_DIR=none
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"

cp "$programs/consumer.cmake.in" "$work/consumer/CMakeLists.txt"
cmake -G Ninja -S "$work/consumer" -B "$work/consumer/build" -DPROGRAMS="$programs" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$work/consumer.log"
cmake --build "$work/consumer/build" >>"$work/consumer.log"
"$work/consumer/build/program_c"
"$work/consumer/build/program_cpp"

mv "$work/prefix" "$work/moved"
pc=$(dirname "$(find "$work/moved" -name tilec.pc)")
flags=$(PKG_CONFIG_PATH="$pc" pkg-config --define-prefix --cflags --libs tilec 2>/dev/null ||
    PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs tilec)
# shellcheck disable=SC2086
"$cc" -std=c11 -Wall -Wextra -Werror "$programs/program.c" -o "$work/by_pkg_config" $flags
LD_LIBRARY_PATH=$(dirname "$pc") "$work/by_pkg_config"
"$work/moved/bin/tilec" version | head -1

# Man pages and completion are where shells and man look for them.
for file in man/man1/tilec.1 man/man1/tilec-compile.1 bash-completion/completions/tilec zsh/site-functions/_tilec \
    fish/vendor_completions.d/tilec.fish; do
    [ -s "$work/moved/share/$file" ] || { echo "share/$file is not installed" >&2; exit 1; }
done

# What the library shows is the API and nothing else.
library=$(find "$work/moved" -name 'libtilec.so.*.*.*')
others=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v -e '^tile_' -e '^TILE_[0-9.]*$' || true)
[ -z "$others" ] || { echo "libtilec.so also exports: $others" >&2; exit 1; }

# The record of the ABI tells a change that programs notice from one that they do not.
header=$programs/../../include/tilec.h
judge() { python3 "$programs/abi.py" "$work/changed.h" "$library" "$cc" "$programs/abi.txt" | tail -1; }
sed '/^    size_t type_count;/d' "$header" >"$work/changed.h"
[[ $(judge) == incompatible* ]] || { echo "abi.py takes a header without a field" >&2; exit 1; }
sed 's/^} tile_compile_options;/    size_t added;\n&/' "$header" >"$work/changed.h"
[[ $(judge) == compatible* ]] || { echo "abi.py refuses an added field" >&2; exit 1; }

# It runs with the C library that docs/runtime.md names.
newest=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -1)
[ "$(printf '%s\n' "$newest" GLIBC_2.35 | sort -V | tail -1)" = GLIBC_2.35 ] || {
    echo "libtilec.so needs $newest" >&2
    exit 1
}

# A project that has this one as a subdirectory uses the same name.
mkdir -p "$work/parent"
cat >"$work/parent/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C CXX)
add_subdirectory($programs/../.. tilec)
add_executable(program_c $programs/program.c)
target_link_libraries(program_c PRIVATE tilec::tilec)
EOF
cmake -G Ninja -S "$work/parent" -B "$work/parent/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    >"$work/parent.log"
