#!/usr/bin/env bash
# Packs the build, unpacks the Debian packages into one root and the archive into another, and uses what is there.
#   packages.sh BUILD_FOLDER WORK_FOLDER C_COMPILER
set -euo pipefail
build=$(cd "$1" && pwd) work=$2 cc=$3
programs=$(cd "$(dirname "$0")" && pwd)
fail() { echo "packages.sh: $*" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work/root" "$work/archive"
work=$(cd "$work" && pwd)
export TILEC_CACHE_DIR=none
(cd "$build" && cpack -G "TGZ;DEB" -B "$work/packed") >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }

names=
for package in "$work"/packed/*.deb; do
    name=$(dpkg-deb -f "$package" Package)
    names+="$name "
    dpkg-deb -x "$package" "$work/root"
    [ -s "$work/root/usr/share/doc/$name/copyright" ] || fail "$name has no copyright file"
    if dpkg-deb -c "$package" | grep -v ' root/root '; then fail "$name has files that are not root's"; fi
done
library=$(basename "$work"/packed/libtilec[0-9]*.deb | cut -d_ -f1)
launcher=libtilec-run${library#libtilec}
[ "$names" = "libtilec-dev $launcher $library tilec " ] || fail "the packages are $names"
for name in tilec "$library" "$launcher"; do # LLVM and the C++ library are inside where LLVM's archives are linked
    depends=$(dpkg-deb -f "$work/packed/${name}"_*.deb Depends)
    [[ $depends =~ ^libc6\ \(\>=\ [0-9.]+\)$ || $depends == *libllvm* ]] || fail "$name depends on $depends"
done
[[ $(dpkg-deb -f "$work"/packed/libtilec-dev_*.deb Depends) == "$library (= "* ]] || fail "libtilec-dev does not depend on $library"
dpkg-deb -I "$work/packed/$library"_*.deb shlibs | grep -q "^libtilec ${library#libtilec} $library" || fail "$library has no shlibs"

tar -C "$work/archive" --strip-components=1 -xzf "$work"/packed/tilec-*.tar.gz
for prefix in "$work/root/usr" "$work/archive"; do
    "$prefix/bin/tilec" compile "$programs/../../kernels/vector_add.tile" -s "*fp32:16, *fp32:16, *fp32:16, i32, 1024" \
        -o "$work/k.ptx"
    grep -q '^.visible .entry vector_add' "$work/k.ptx" || fail "$prefix/bin/tilec gives no PTX"
    pc=$(dirname "$(find "$prefix" -name tilec.pc)")
    # shellcheck disable=SC2046
    "$cc" -std=c11 "$programs/program.c" -o "$work/program" $(PKG_CONFIG_PATH=$pc pkg-config --define-prefix --cflags --libs tilec)
    LD_LIBRARY_PATH=$(dirname "$pc") "$work/program"
    if grep -rl -e "$build" -e "$(cd "$programs/../.." && pwd)" "$prefix"; then fail "files above name folders of the build"; fi
done
rm -rf "$work"
