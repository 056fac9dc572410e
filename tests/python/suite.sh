#!/usr/bin/env bash
# Triton's own tests, as they are, on the package of a build folder: suite.sh BUILD [interpreter|sim|host|cuda] [pytest's arguments..]
#   interpreter, sim: the tests that are marked so, on the interpreter or the simulator; host: the others, on the simulator in the place of a GPU
#   TRITON_TESTS: the folder of test_core.py and others, or Triton's python/test/unit with folders of them, whose files are then
#                 arguments, language/test_core.py; else shared/triton-tests beside the repository
#   SUITE_PYTHON: one that has torch, NumPy, SciPy, pytest and pytest-xdist, else build/suite's, which `./dev suite` makes
#   TILEC_SIM_TARGET: of the simulator; sm_90a
# Status: 0 each function fails and passes as Inputs/triton_suite.tsv says, or is not run; 1 others do; 77 there are no tests or no such Python.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
build=$(cd "$1" && pwd)
kind=${2:-interpreter}
tests=${TRITON_TESTS:-$(dirname "$root")/shared/triton-tests}
python=${SUITE_PYTHON:-$root/build/suite/bin/python}
shift $(($# < 2 ? $# : 2))
[ -f "$tests/test_core.py" ] || [ -f "$tests/language/test_core.py" ] || { echo "no tests of Triton's in '$tests'"; exit 77; }
"$python" -c "import torch, numpy, scipy, pytest, xdist" 2>/dev/null || { echo "'$python' has no torch and pytest"; exit 77; }

export PYTHONPATH="$build/python:$here:$here/site" PYTHONDONTWRITEBYTECODE=1 TILEC_CACHE_DIR=${TILEC_CACHE_DIR:-none}
case $kind in
interpreter) export TRITON_INTERPRET=1 TILEC_DEVICE=cpu ;;
sim) export TRITON_INTERPRET=1 TILEC_DEVICE=sim TILEC_SIM_TARGET=${TILEC_SIM_TARGET:-sm_90a} ;;
host) export TILEC_DEVICE=sim TILEC_SIM_TARGET=${TILEC_SIM_TARGET:-sm_90a} ;;
cuda) export TILEC_DEVICE=cuda ;;
*) sed -n '2,8p' "$0" | cut -c3-; exit 2 ;;
esac
select=(-m interpreter)
[ "$kind" != cuda ] || select=()
[ "$kind" != host ] || select=(-m "not interpreter")
cd "$tests"
if [ $# = 0 ]; then
    set -- test_core.py test_standard.py test_tuple.py test_annotations.py
    [ -f test_core.py ] || set -- "${@/#/language/}"
fi
exec "$python" -m pytest -p triton_suite -p no:cacheprovider -q -rN --noconftest --continue-on-collection-errors --tb=no -n "$(nproc)" "${select[@]}" "$@"
