#!/usr/bin/env bash
# The Python package: its types and style, its tests, and every published decision, from the wheel that users get.
#
#   ci/python.sh           all of that
#   ci/python.sh --bench   beside other limiters; not a test
source "$(dirname "$0")/lib.sh"

root="$PWD"
venv="$target/python"
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"
export PIP_DISABLE_PIP_VERSION_CHECK=1
# It must be the interpreter of this folder whose abi3 is asked for.
export PYO3_PYTHON="$venv/bin/python"
cd bindings/python
pip install --quiet --requirement requirements.txt

wheels="$venv/wheels"
"$root/ci/wheels.sh" "$wheels"
pip install --quiet --force-reinstall --no-deps "$wheels"/*.whl
python -c 'import ratecell, sys; sys.exit("site-packages" not in ratecell.__file__)'

if [ "${1:-}" = --bench ]; then
    exec python bench/run.py
fi

ruff format --quiet --check .
ruff check --quiet .
mypy
# What the stubs say is what the module has. From elsewhere, so that it is the installed one.
(cd "$venv" && python -m mypy.stubtest ratecell._native)
pytest
python tests/vectors.py "$root/vectors"
python tests/client_keys.py "$root/vectors/edges"
