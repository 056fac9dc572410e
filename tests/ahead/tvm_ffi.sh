#!/usr/bin/env bash
# Kernels as functions of tvm-ffi: a manifest to C, which two languages' compilers take without a warning; called as the ABI says, under sanitizers,
# and by tvm_ffi itself, where Python has it, on the simulator's driver. Ends with 77 where that last part was left out.
#   tvm_ffi.sh TILEC SIMULATOR_FOLDER FAKE_CUDA WORK_FOLDER C_COMPILER CXX_COMPILER
set -euo pipefail
tilec=$1 simulator=$2 fake=$3 work=$4 cc=$5 cxx=$6
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
fail() { echo "tvm_ffi.sh: $*" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work/driver"
cd "$work"
ln -s "$fake" driver/libcuda.so.1
export TILEC_CACHE_DIR=none TILEC_PTXAS=none

"$tilec" compile "$here/tvm_ffi.json" --emit tvm-ffi -o k.c
"$tilec" compile "$here/tvm_ffi.json" --emit tvm-ffi -j 1 >again.c
cmp k.c again.c
[ ! -e k.h ] || fail "there is a header"
/usr/bin/python3 "$here/expressions.py" grids.json
"$tilec" compile grids.json --emit tvm-ffi -o grids.c

flags=(-Wall -Wextra -Werror -pedantic -shared -fPIC)
for file in k grids; do
    "$cc" -std=c11 "${flags[@]}" "$file.c" -o "$file.so"
    "$cxx" -std=c++17 -x c++ "${flags[@]}" "$file.c" -o "${file}_cpp.so"
    if command -v clang >/dev/null; then clang -std=c11 -fsyntax-only "${flags[@]}" -Wno-unused-command-line-argument "$file.c"; fi
done
for library in k.so k_cpp.so; do
    shown=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v '^_\(init\|fini\)$' | sort | xargs)
    wanted="__tvm_ffi__doc_choices __tvm_ffi__doc_matmul __tvm_ffi__doc_scalars __tvm_ffi__doc_softmax __tvm_ffi_choices __tvm_ffi_matmul __tvm_ffi_scalars __tvm_ffi_softmax"
    [ "$shown" = "$wanted" ] || fail "$library has $shown"
    needed=$(nm -D --undefined-only "$library" | awk '$2 ~ /^TVM/ { print $2 }' | sort | xargs)
    [ "$needed" = "TVMFFIEnvGetStream TVMFFIErrorSetRaisedFromCStr TVMFFIStringFromByteArray" ] || fail "$library needs $needed"
done

sanitize=(-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Wall -Wextra -Werror)
"$cc" -std=gnu11 "${sanitize[@]}" -I"$root/src" "$here/ffi_calls.c" -c -o calls.o
"$cc" -std=c11 "${sanitize[@]}" -pedantic -c k.c -o k.o
"$cc" -fsanitize=address,undefined calls.o k.o -o calls -ldl -pthread
for way in new old; do
    LD_LIBRARY_PATH=$work/driver ./calls $way
done

status=77
for python in "$root/build/venv/bin/python" /usr/bin/python3; do
    if [ $status = 77 ] && [ -x "$python" ] && "$python" -c 'import numpy, tvm_ffi' 2>/dev/null; then
        LD_LIBRARY_PATH=$simulator PYTHONDONTWRITEBYTECODE=1 "$python" "$here/tvm_ffi_calls.py" "$work/k.so" "$work/grids.so"
        LD_LIBRARY_PATH=$simulator PYTHONDONTWRITEBYTECODE=1 "$python" "$here/tvm_ffi_calls.py" "$work/k_cpp.so"
        status=0
    fi
done
cd /
rm -rf "$work"
[ $status = 0 ] || echo "no Python has tvm_ffi and numpy: what goes through them was left out"
exit $status
