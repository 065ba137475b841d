#!/usr/bin/env bash
# An example for Slurm: four machines of eight GPUs. Copy it, set what your cluster calls its partition and account, then
#   sbatch slurm.sh uis1_7b data.train_files=/shared/android_control_train.jsonl
# Repository, virtual environment, models and data lie on a disk that all machines see.
#SBATCH --job-name=uis1
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --mem=0
#SBATCH --exclusive
#SBATCH --time=48:00:00
#SBATCH --output=uis1-%j.log
# a run that was ended goes on from its last checkpoint
#SBATCH --requeue
set -euo pipefail

config="${1:?which configuration? sbatch slurm.sh CONFIG [OVERRIDE ...]}"
shift
venv="${VENV:-$SLURM_SUBMIT_DIR/.venv-gpu}"
# shellcheck disable=SC1091
. "$venv/bin/activate"
launch="$(python -c 'import uis1_train.launch, pathlib; print(pathlib.Path(uis1_train.launch.__file__).parent)')"

HEAD_NODE="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"
HEAD_ADDRESS="$(srun --nodes=1 --ntasks=1 --nodelist="$HEAD_NODE" hostname --ip-address | tr ' ' '\n' | grep -v ':' | head -n 1)"
export HEAD_ADDRESS
export NNODES="$SLURM_NNODES"
export RAY_PORT=$((20000 + SLURM_JOB_ID % 20000))
export GPUS="${SLURM_GPUS_ON_NODE:-8}"
# other users of these machines must not be able to start processes through this Ray
export RAY_AUTH_MODE=token
RAY_AUTH_TOKEN="$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"
export RAY_AUTH_TOKEN

# --kill-on-bad-exit: no machine waits for one that failed
srun --kill-on-bad-exit=1 --export=ALL bash -c 'NODE_RANK="$SLURM_NODEID" exec "$@"' ray_node \
    "$launch/ray_node.sh" uis1-train run --config "$config" "trainer.nnodes=$NNODES" "trainer.n_gpus_per_node=$GPUS" "$@"
