#!/usr/bin/env bash
# `make demo`, in two chapters. First a run of PocketPhone with its report: the tiny model plays where an environment with torch is there, else the
# noisy oracle. Then agents with known mistakes in three protocols (static, semi-online, online), and what each metric tells of the others.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo-$(date +%Y%m%d-%H%M%S)
play=(.venv/bin/sopbench run)
for bin in .venv/bin .venv-train/bin; do
    if [ -f sopbench/models/tiny/model.safetensors ] && [ -x $bin/sopbench ] &&
        $bin/python -c 'import importlib.util as u, sys; sys.exit(not (u.find_spec("torch") and u.find_spec("transformers")))'; then
        play=("$bin/sopbench" run --suite pocket-large --model builtin:tiny)
        break
    fi
done
"${play[@]}" --out "$out/run"
echo
.venv/bin/python scripts/link_demo.py --out "$out/link"
echo "report  $out/run/report.html"
