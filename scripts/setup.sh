#!/usr/bin/env bash
# Make the development environment: .venv with the package and its dev tools; with `browser`, also a Chromium and adb for the tests.
# Installs missing Debian packages where it may (as root); says what to install otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
want=${1:-base}

apt_install() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing: $*"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    else
        return 1
    fi
}

python=""
for candidate in "${PYTHON:-}" python3.11 python3.12 python3; do
    if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "error: sopbench needs Python 3.11 or 3.12; name one with PYTHON=..." >&2
    exit 2
fi
if [ ! -x .venv/bin/python ]; then
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        apt_install python3-venv || { echo "error: $python cannot make virtual environments; install python3-venv" >&2; exit 2; }
    fi
    "$python" -m venv .venv
fi
if ! cmp -s pyproject.toml .venv/pyproject.installed; then
    echo "installing sopbench and its development tools into .venv"
    .venv/bin/python -m pip install -q --disable-pip-version-check -e '.[dev]'
    cp pyproject.toml .venv/pyproject.installed
fi
if [ "$want" = browser ] && ! command -v adb >/dev/null 2>&1; then
    apt_install adb || echo "note: without adb the tests of the simulated phone through adb are skipped" >&2
fi
if [ "$want" = browser ] && ! { command -v chromium && command -v chromedriver; } >/dev/null 2>&1; then
    apt_install chromium chromium-driver || echo "note: without chromium and chromedriver the report's browser tests are skipped" >&2
fi
