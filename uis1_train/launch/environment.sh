# shellcheck shell=bash
# The environment of every process of a run, on every machine: source it before `ray start`, whose environment Ray's workers inherit.
# What is set already stays as it is.

export PYTHONUNBUFFERED="${PYTHONUNBUFFERED:-1}"
export TOKENIZERS_PARALLELISM="${TOKENIZERS_PARALLELISM:-false}"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-8}"

# a collective that hangs ends the run with a message instead of waiting for ever
export TORCH_NCCL_ASYNC_ERROR_HANDLING="${TORCH_NCCL_ASYNC_ERROR_HANDLING:-1}"
export NCCL_DEBUG="${NCCL_DEBUG:-WARN}"
# machines with several networks: name the one that all share
if [ -n "${NETWORK_INTERFACE:-}" ]; then
    export NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-$NETWORK_INTERFACE}"
    export GLOO_SOCKET_IFNAME="${GLOO_SOCKET_IFNAME:-$NETWORK_INTERFACE}"
fi

# Ray: no usage reports
export RAY_USAGE_STATS_ENABLED="${RAY_USAGE_STATS_ENABLED:-0}"

# models and data lie on a shared disk: nothing is fetched while a run starts
export HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}"
