#!/usr/bin/env bash
# Packs a folder of seeds, such as one that libFuzzer's -merge=1 left, as the seeds of a fuzz target:
#   pack.sh fuzz_NAME FOLDER       -> corpus/fuzz_NAME.tar.gz, equal for equal files
# Inputs that once failed stay files in corpus/fuzz_NAME, named by what they found.
set -euo pipefail
[ $# = 2 ] && [ -d "$2" ] || { sed -n '2,4p' "$0" | cut -c3- >&2; exit 2; }
archive=$(cd "$(dirname "$0")" && pwd)/corpus/$1.tar.gz
cd "$2"
find . -type f -printf '%P\0' | LC_ALL=C sort -z |
    tar --null -T - --owner=0 --group=0 --numeric-owner --mode=644 --mtime='2026-01-01 00:00Z' --format=ustar -cf - | gzip -9n >"$archive"
ls -l "$archive"
