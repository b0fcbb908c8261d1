#!/bin/sh
# Install what Routewarden needs into .venv: `scripts/setup.sh local` (demo, up) or `scripts/setup.sh dev` (tests; more).
# Done once; again when the requirements change or an earlier run was interrupted (its mark is written last).
set -eu
extra=$1
cd "$(dirname "$0")/.."
venv=.venv

fail() {
    echo "make: $1" >&2
    exit 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for name in ${PYTHON:+"$PYTHON"} python3.13 python3.12 python3.11 python3 python; do
        if is_new_enough "$name"; then
            echo "$name"
            return
        fi
    done
}

describe_old_python() {
    for name in python3 python; do
        if version=$("$name" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null); then
            echo "found only $name $version"
            return
        fi
    done
    echo "found none"
}

# The mark of an extra holds the checksums of the files it was installed from.
fingerprint() {
    case $1 in
        dev) cksum requirements.txt requirements-local.txt requirements-dev.txt ;;
        *) cksum "requirements-$1.txt" ;;
    esac
}

is_done() {
    [ -f "$venv/installed-$1" ] && [ "$(fingerprint "$1")" = "$(cat "$venv/installed-$1")" ]
}

make_venv() {
    if command -v uv >/dev/null 2>&1; then
        uv venv --quiet --clear --python "${python:->=3.11}" "$venv" || fail "uv could not make $venv (see above)."
        return
    fi
    "$python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
        fail "$python cannot make virtual environments: apt install python3-venv (or install uv)."
    "$python" -m venv --clear "$venv" || fail "$python could not make $venv (see above)."
}

install() {
    if command -v uv >/dev/null 2>&1; then
        uv pip install --quiet --python "$venv/bin/python" --require-hashes -r "$1"
        return
    fi
    # A .venv made by uv has no pip; an interrupted one may have half of it.
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >/dev/null 2>&1 || make_venv
    # One dependency has only a source distribution: old pips build it by a way of their own unless told.
    PIP_USE_PEP517=1 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$1"
}

if is_new_enough "$venv/bin/python" && { is_done "$extra" || is_done dev; }; then
    exit 0
fi
python=$(find_python)
if [ -z "$python" ] && ! command -v uv >/dev/null 2>&1; then
    fail "Routewarden needs Python 3.11 or newer; $(describe_old_python). Install one (apt install python3, brew install python) or name it: make PYTHON=/path/to/python3.11 ..."
fi
echo "Installing packages into $venv (once) ..."
is_new_enough "$venv/bin/python" || make_venv
install "requirements-$extra.txt" || fail "the packages could not be installed (see above); run the same command again."
fingerprint "$extra" >"$venv/installed-$extra"
