#!/bin/sh
# Make .venv-vllm, the environment of the server that the end-to-end tests talk to (see setup_vllm.py).
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$root/.venv/bin/python
[ -x "$python" ] || python=python3
exec "$python" "$root/tests/e2e/setup_vllm.py" "$@"
