#!/usr/bin/env bash
# Check the embedded trainer on one GPU, in float32 and bfloat16, and print figures: scripts/gpu_check.sh [OUT [more options of gpu_check.py]]
# Under 8 minutes; asks the network for nothing. Needs a Python with a CUDA build of torch and what sopbench needs: PYTHON=... names one.
# Exit status: 0 all checks passed, 1 one did not, 2 there is no GPU (or no torch) here, 124 it took too long.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/out/gpu-check}
[ $# -eq 0 ] || shift
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 SOPBENCH_OFFLINE=1 HF_HUB_OFFLINE=1
exec timeout --signal=INT --kill-after=10 470 "${PYTHON:-python3}" "$root/scripts/gpu_check.py" --out "$out" "$@"
