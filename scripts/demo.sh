#!/usr/bin/env bash
# `make demo`: a run of PocketPhone with its report. The tiny model plays where an environment with torch is there, else the noisy oracle.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo-$(date +%Y%m%d-%H%M%S)
for bin in .venv/bin .venv-train/bin; do
    if [ -f sopbench/models/tiny/model.safetensors ] && [ -x $bin/sopbench ] &&
        $bin/python -c 'import importlib.util as u, sys; sys.exit(not (u.find_spec("torch") and u.find_spec("transformers")))'; then
        exec $bin/sopbench run --suite pocket-large --model builtin:tiny --out "$out"
    fi
done
exec .venv/bin/sopbench run --out "$out"
