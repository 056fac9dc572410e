#!/usr/bin/env bash
# Makes both wheels and tries them in environments of their own. 77: there is nothing to make wheels with.
#   wheels.sh BUILD OUT
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$root/build/venv/bin/python
env -u PYTHONPATH "$python" -c 'import setuptools.command.bdist_wheel' 2>/dev/null || exit 77
env -u PYTHONPATH "$root/python/wheels.sh" "$python" "$1" "$2"
TILEC_WHEELS=$2 "$python" "$root/tests/python/test_install.py" Wheels
