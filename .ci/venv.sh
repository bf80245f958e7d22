#!/bin/sh
# Makes .venv and installs the project with the given extras, unless exactly that is there already (then it costs milliseconds
# and needs no network). usage: sh .ci/venv.sh [EXTRAS], e.g. "test" or "test,aws"
set -eu
extras=${1-}
cd "$(dirname "$0")/.."

key=$(cat pyproject.toml constraints.txt | cksum | tr ' ' '-')
stamp=".venv/.bayplan-${extras:-base}-$key"
# What has all test tools has the base as well.
for have in "$stamp" ".venv/.bayplan-test-$key"; do
    case "$have" in *-test-*) [ -z "$extras" ] || [ "$extras" = test ] || continue ;; esac
    if [ -e "$have" ] && [ -x .venv/bin/packer ]; then exit 0; fi
done

new_enough='import sys; sys.exit(0 if sys.version_info >= (3, 11) else 1)'
if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c "$new_enough" 2>/dev/null; then
    found=
    for python in ${PYTHON-} python3 python3.13 python3.12 python3.11 python3.14; do
        if command -v "$python" >/dev/null 2>&1 && "$python" -c "$new_enough" 2>/dev/null; then found=$python; break; fi
    done
    if [ -z "$found" ]; then
        echo "setup: Bayplan needs Python 3.11 or newer; found $(python3 --version 2>/dev/null || echo none). Install one, or name it: make demo PYTHON=/path/to/python3.12" >&2
        exit 1
    fi
    echo "setup: making .venv with $($found --version)" >&2
    rm -rf .venv
    if ! "$found" -m venv .venv >/dev/null 2>.venv-error; then
        cat .venv-error >&2
        rm -rf .venv .venv-error
        echo "setup: $found cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2
        exit 1
    fi
    rm -f .venv-error
fi

echo "setup: installing into .venv (once; about a minute with a warm download)" >&2
target=.
[ -z "$extras" ] || target=".[$extras]"
if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e "$target" </dev/null; then
    echo "setup: the packages could not be installed; the lines above say why. A package index must be reachable the first time." >&2
    exit 1
fi
rm -f .venv/.bayplan-"${extras:-base}"-*
: >"$stamp"
