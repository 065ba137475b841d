#!/usr/bin/env bash
# One machine's part of a run on several: called once on each, with the same command.
#
#   NODE_RANK=0 NNODES=4 HEAD_ADDRESS=10.0.0.1 ray_node.sh uis1-train run --config uis1_7b trainer.nnodes=4
#
# Rank 0 starts Ray's head, waits until all machines have joined, runs the command and ends the cluster with its exit status. All others join the
# head, stay until it is gone, and end with status 0.
#
#   NODE_RANK      number of this machine, from 0
#   NNODES         machines in all
#   HEAD_ADDRESS   address of the machine of rank 0, as the others reach it
#   RAY_PORT       port of the head (6379)
#   GPUS           GPUs of this machine (default: Ray counts them)
#   JOIN_TIMEOUT   seconds to wait for all machines, or for the head (600)
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=environment.sh
. "$here/environment.sh"

fail() {
    echo "ray_node.sh: $*" >&2
    exit 2
}

: "${NODE_RANK:?number of this machine, from 0}"
: "${NNODES:?machines in all}"
: "${HEAD_ADDRESS:?address of the machine of rank 0}"
port="${RAY_PORT:-6379}"
timeout="${JOIN_TIMEOUT:-600}"
python="${PYTHON:-python}"
gpus=()
if [ -n "${GPUS:-}" ]; then
    gpus=(--num-gpus "$GPUS")
fi
[ "$#" -gt 0 ] || fail "no command given: ray_node.sh COMMAND [ARGUMENT ...]"
[[ "$NODE_RANK" =~ ^[0-9]+$ && "$NNODES" =~ ^[1-9][0-9]*$ ]] || fail "NODE_RANK and NNODES are numbers"
[ "$NODE_RANK" -lt "$NNODES" ] || fail "NODE_RANK=$NODE_RANK does not exist among NNODES=$NNODES"

export RAY_ADDRESS="$HEAD_ADDRESS:$port"

if [ "$NODE_RANK" -gt 0 ]; then
    deadline=$((SECONDS + timeout))
    while true; do
        joined=$SECONDS
        # --block: until the head is gone, or at once where there is none yet
        if ray start --address "$RAY_ADDRESS" --block "${gpus[@]+"${gpus[@]}"}"; then
            exit 0
        fi
        if [ $((SECONDS - joined)) -gt 60 ]; then
            exit 0 # it had joined: the head has ended
        fi
        [ "$SECONDS" -lt "$deadline" ] || fail "no Ray head at $RAY_ADDRESS after $timeout s: is rank 0 running, and is the port open?"
        sleep "${RETRY_SECONDS:-5}"
    done
fi

stop() {
    ray stop >/dev/null 2>&1 || true
}
trap stop EXIT
trap 'exit 143' TERM INT

# the command itself takes RAY_ADDRESS; `ray start --head` must not
env -u RAY_ADDRESS ray start --head --node-ip-address "$HEAD_ADDRESS" --port "$port" --include-dashboard false "${gpus[@]+"${gpus[@]}"}"
"$python" -m uis1_train.launch.nodes --wait-for "$NNODES" --timeout "$timeout"
status=0
"$@" || status=$?
exit "$status"
