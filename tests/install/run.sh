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
echo '{"code": "ptx", "kernels": [{"file": "'"$programs"'/../../kernels/vector_add.tile",
       "signatures": "*fp32:16, *fp32:16, *fp32:16, i32, 1024"}]}' >"$work/vector_add.json"
"$work/prefix/bin/tilec" compile "$work/vector_add.json" -o "$work/vector_add.bundle"
"$work/consumer/build/launcher" "$work/vector_add.bundle"
"$work/consumer/build/launcher_static" "$work/vector_add.bundle"

# The examples build against it, and say so where there is no GPU; nothing of theirs is a warning.
examples=$programs/../../examples
cmake -G Ninja -S "$examples/launch" -B "$work/examples" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" >"$work/examples.log"
cmake --build "$work/examples" >>"$work/examples.log"
for example in typed fixed plain; do
    status=0
    TILEC_CUDA_LIBRARY=none.so "$work/examples/$example" "$programs/../../kernels/softmax.tile" >"$work/example.out" 2>&1 || status=$?
    [ "$status" = 3 ] || [ "$status" = 0 ] || { cat "$work/example.out"; echo "$example ends with $status" >&2; exit 1; }
done

# What is wrong with kernels is found without a GPU.
cmake -G Ninja -S "$examples/host" -B "$work/host" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" >"$work/host.log"
cmake --build "$work/host" >>"$work/host.log"
TILEC_PTXAS=none "$work/host/check" "$examples/host/add.tile"

# On the simulator's driver they run, unchanged, and compute what they are to; `plain` finds it as libcuda.so.1.
export TILEC_PTXAS=none
simulator=$(find "$work/prefix" -name libtilec-cuda-sim.so)
for example in typed fixed; do
    TILEC_CUDA_LIBRARY=$simulator "$work/examples/$example" "$programs/../../kernels/softmax.tile"
done
LD_LIBRARY_PATH=$(dirname "$simulator")/tilec "$work/examples/plain" "$programs/../../kernels/softmax.tile"

# Kernels for tvm-ffi are made by the installed compiler alone, and called where there is a Python that has it.
cmake -G Ninja -S "$examples/tvm_ffi" -B "$work/tvm_ffi" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="-O2 -Wall -Wextra -Werror -pedantic" >"$work/tvm_ffi.log"
cmake --build "$work/tvm_ffi" >>"$work/tvm_ffi.log"
python=$programs/../../build/venv/bin/python
if "$python" -c 'import tvm_ffi' 2>/dev/null; then
    LD_LIBRARY_PATH=$(dirname "$simulator")/tilec PYTHONDONTWRITEBYTECODE=1 "$python" "$examples/tvm_ffi/call.py" "$work/tvm_ffi/kernels.so"
fi

# The transformer gives the tokens that float64 gives, for each type of weights, on the simulator.
cmake -G Ninja -S "$examples/llm" -B "$work/llm" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="-O2 -Wall -Wextra -Werror" >"$work/llm.log"
cmake --build "$work/llm" >>"$work/llm.log"
run_model() { # folder, then options
    TILEC_CUDA_LIBRARY=$simulator TILEC_CACHE_DIR="$work/cache" /usr/bin/python3 "$examples/llm/reference.py" "$1" "$work/llm/llm" \
        --kernels "$examples/llm/kernels.tile" "${@:2}"
}
for dtype in fp32 fp16 bf16; do
    /usr/bin/python3 "$examples/llm/make_weights.py" "$work/model-$dtype" --dtype "$dtype"
    run_model "$work/model-$dtype" --steps 12
done
TILEC_SIM_TARGET=sm_80 run_model "$work/model-bf16" --steps 4
run_model "$work/model-fp16" --steps 12 --temperature 0.9 --top-k 20 --seed 3
# Heads and rows of no round size; a prompt of several blocks, whose keys a step then looks at in parts.
/usr/bin/python3 "$examples/llm/make_weights.py" "$work/model-odd" --layers 1 --width 72 --heads 3 --heads_k 1 --hidden 100 --vocabulary 300
run_model "$work/model-odd" --steps 4 --tokens "$(seq -s, 100 249)"


# The server answers all requests, on many threads, and ends in order, by itself and when it is told to.
cmake -G Ninja -S "$examples/server" -B "$work/server" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="-O2 -Wall -Wextra -Werror" >"$work/server.log"
cmake --build "$work/server" >>"$work/server.log"
for limit in 60 3; do
    TILEC_CUDA_LIBRARY=$simulator TILEC_CACHE_DIR="$work/cache" timeout --preserve-status --signal=TERM $limit \
        "$work/server/server" --kernels "$programs/../../kernels" --seconds 100 --requests $((limit == 60 ? 50 : 1000000))
done
unset TILEC_PTXAS
mv "$work/prefix" "$work/moved"
pc=$(dirname "$(find "$work/moved" -name tilec.pc)")
flags=$(PKG_CONFIG_PATH="$pc" pkg-config --define-prefix --cflags --libs tilec 2>/dev/null ||
    PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs tilec)
# shellcheck disable=SC2086
"$cc" -std=c11 -Wall -Wextra -Werror "$programs/program.c" -o "$work/by_pkg_config" $flags
LD_LIBRARY_PATH=$(dirname "$pc") "$work/by_pkg_config"
flags=$(PKG_CONFIG_PATH="$pc" pkg-config --define-prefix --cflags --libs tilec-run 2>/dev/null ||
    PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs tilec-run)
# shellcheck disable=SC2086
"$cc" -std=c11 -Wall -Wextra -Werror "$programs/launcher.c" -o "$work/launcher" $flags
LD_LIBRARY_PATH=$(dirname "$pc") "$work/launcher" "$work/vector_add.bundle"
"$work/moved/bin/tilec" version | head -1

# Man pages and completion are where shells and man look for them.
for file in man/man1/tilec.1 man/man1/tilec-compile.1 bash-completion/completions/tilec zsh/site-functions/_tilec \
    fish/vendor_completions.d/tilec.fish; do
    [ -s "$work/moved/share/$file" ] || { echo "share/$file is not installed" >&2; exit 1; }
done

# What the libraries show is the API and nothing else: all of it, or but for what takes a compiler.
declared() { cat "$@" | grep -v '^ \*' | tr '\n' ' ' | grep -o 'TILE_API [^(]*(' | grep -o 'tile_[a-z_]*($' | tr -d '(' | sort; }
exported() { nm -D --defined-only "$1" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }' | sort; }
library=$(find "$work/moved" -name 'libtilec.so.*.*.*') run=$(find "$work/moved" -name 'libtilec-run.so.*.*.*')
include=$(dirname "$(find "$work/moved" -name tilec.h)")
declared "$include"/tilec/*.h >"$work/declared"
exported "$library" | diff "$work/declared" - || { echo "libtilec.so and tilec.h differ" >&2; exit 1; }
grep -v -x -e tile_compile -e tile_prewarm -e tile_function_create -e tile_device_open_host -e tile_source_extent -e 'tile_cancellation_.*' -e 'tile_kernel_list_.*' \
    -e 'tile_names_.*' -e tile_build_id -e tile_kernel_pack -e tile_kernel_unpack "$work/declared" >"$work/declared-run"
exported "$run" | diff "$work/declared-run" - || { echo "libtilec-run.so lacks functions, or has others" >&2; exit 1; }
others=$(nm "$(find "$work/moved" -name libtilec-run.a)" | awk 'NF == 3 && $2 ~ /^[TDBRCVW]$/ && $3 !~ /^tile_/ { print $3 }')
[ -z "$others" ] || { echo "libtilec-run.a also defines: $others" >&2; exit 1; }

# libtilec-run needs the C library alone, with what were libraries of their own before glibc 2.34, and less than 200 KiB.
needed=$(objdump -p "$run" | awk '$1 == "NEEDED" && $2 !~ /^lib(c.so.6|pthread.so.0|dl.so.2)$/ { print $2 }')
[ -z "$needed" ] || { echo "libtilec-run.so needs $needed" >&2; exit 1; }
strip -o "$work/stripped.so" "$run"
[ "$(stat -c %s "$work/stripped.so")" -lt 204800 ] || { echo "libtilec-run.so has $(stat -c %s "$work/stripped.so") bytes" >&2; exit 1; }

# Each part of tilec.h can be included by itself, in C and in C++.
for header in "$include"/tilec/*.h; do
    "$cc" -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c "$header"
    "$cxx" -std=c++11 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c++ "$header"
done

# The record of the ABI tells a change that programs notice from one that they do not.
judge() { python3 "$programs/abi.py" "$work/changed/tilec.h" "$library" "$cc" "$programs/abi.txt" | tail -1; }
cp -r "$programs/../../include" "$work/changed"
sed -i '/^    size_t type_count;/d' "$work/changed/tilec/compile.h"
[[ $(judge) == incompatible* ]] || { echo "abi.py takes a header without a field" >&2; exit 1; }
cp "$programs/../../include/tilec/compile.h" "$work/changed/tilec"
sed -i 's/^} tile_compile_options;/    size_t added;\n&/' "$work/changed/tilec/compile.h"
[[ $(judge) == compatible* ]] || { echo "abi.py refuses an added field" >&2; exit 1; }

# They run with the C library that docs/building.md names, whichever they were built with, unless LLVM wants a newer one.
for file in "$library" "$run" "$work/moved/bin/tilec" "$(find "$work/moved" -name libtilec-cuda-sim.so)"; do
    newest=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -1)
    [ "$(printf '%s\n' "$newest" GLIBC_2.28 | sort -V | tail -1)" = GLIBC_2.28 ] ||
        objdump -p "$file" | grep -q 'NEEDED.*libLLVM' || { echo "$file needs $newest" >&2; exit 1; }
done

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
