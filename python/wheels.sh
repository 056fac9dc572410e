#!/usr/bin/env bash
# Both wheels, of a build folder in which `tilec_python` is built.
#   wheels.sh PYTHON BUILD OUT      PYTHON has setuptools and wheel; nothing is fetched
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$3"
rm -f "$3"/*.whl
# Of a copy: setuptools writes beside what it builds.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/python"
cp "$here/../CMakeLists.txt" "$copy/"
cp -r "$here"/{setup.py,pyproject.toml,tilec,triton_wheel} "$copy/python/"
for project in "$copy/python" "$copy/python/triton_wheel"; do
    TILEC_BUILD=$(realpath "$2") "$1" -m pip wheel -q --no-build-isolation --no-deps --no-index -w "$3" "$project"
done
