"""The environment of a run on a CPU. Kept apart from the plugin, whose import changes verl."""

from __future__ import annotations

import os
from collections.abc import Mapping

PLUGIN = "uis1_train.verl_cpu.plugin"


def environment(found: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What a process needs so that it and all that it starts run verl on this machine's CPUs and talk to nobody else."""
    modules = [name for name in found.get("VERL_USE_EXTERNAL_MODULES", "").split(",") if name]
    return {
        "VERL_USE_EXTERNAL_MODULES": ",".join(dict.fromkeys([*modules, PLUGIN])),
        "VERL_PLATFORM": "cpu",
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        # a busy machine is no dead one
        "RAY_raylet_start_wait_time_s": "300",
        "RAY_worker_register_timeout_seconds": "300",
        "RAY_agent_register_timeout_ms": "300000",
        "RAY_gcs_server_request_timeout_seconds": "300",
        "RAY_health_check_timeout_ms": "60000",
        # nor does it start a process for each CPU that is only counted
        "RAY_prestart_worker_first_driver": "false",
        "RAY_DEDUP_LOGS": "0",
        "TQ_LOGGING_LEVEL": "ERROR",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",
    }
