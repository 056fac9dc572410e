#!/usr/bin/env bash
# Builds the committed sources twice, in folders of different names and lengths, packs both, and compares library, command
# and packages byte by byte. Takes two whole builds: run by hand.
#   reproducible.sh WORK_FOLDER [CMAKE_ARGUMENTS..]
set -euo pipefail
work=$1
shift
sources=$(cd "$(dirname "$0")/../.." && pwd)
commit=$(git -C "$sources" rev-parse HEAD)
# The time in the packages is the commit's.
SOURCE_DATE_EPOCH=$(git -C "$sources" log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1
mkdir -p "$work"
work=$(cd "$work" && pwd)
for folder in one another/folder; do
    rm -rf "${work:?}/$folder"
    mkdir -p "$work/$folder/sources"
    git -C "$sources" archive "$commit" | tar -x -C "$work/$folder/sources"
    cmake -G Ninja -S "$work/$folder/sources" -B "$work/$folder/build" -DCMAKE_BUILD_TYPE=Release -DTILEC_TESTS=OFF "$@"
    cmake --build "$work/$folder/build" -j "$(nproc)"
    (cd "$work/$folder/build" && cpack -G "TGZ;DEB" -B "$work/$folder/packed")
    (cd "$work/$folder" && sha256sum build/src/runtime/libtilec.so build/src/cli/tilec packed/*.deb packed/*.tar.gz) >"$work/${folder%%/*}.sums"
done
diff "$work/one.sums" "$work/another.sums"
cat "$work/one.sums"
