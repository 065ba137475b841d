"""A CPU as one of verl's platforms (`verl.plugin.platform`): what a device would do is done here, or nothing."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry

NAME = "cpu"


def device_module() -> types.ModuleType:
    """What verl's generic code calls of `torch.cuda`, for a machine that has none: no memory to tell of, nothing to wait for."""
    module = types.ModuleType("uis1_train_cpu_device")
    nothing: dict[str, Any] = dict.fromkeys(
        ("set_device", "synchronize", "empty_cache", "ipc_collect", "reset_peak_memory_stats"), _nothing
    )
    zero: dict[str, Any] = dict.fromkeys(
        ("device_count", "memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"), _zero
    )
    of_torch = {
        "manual_seed": torch.manual_seed,
        "manual_seed_all": torch.manual_seed,
        "get_rng_state": torch.get_rng_state,
        "set_rng_state": torch.set_rng_state,
    }
    own = {
        "is_available": lambda: False,
        "current_device": lambda: NAME,
        "get_device_name": lambda *_: NAME,
        "mem_get_info": lambda *_: (0, 0),
    }
    for name, value in (nothing | zero | of_torch | own).items():
        setattr(module, name, value)
    return module


def _nothing(*_: Any, **__: Any) -> None:
    return


def _zero(*_: Any, **__: Any) -> int:
    return 0


@PlatformRegistry.register(platform=NAME)
class PlatformCPU(PlatformBase):
    """Chosen by `VERL_PLATFORM=cpu`. Ray counts "GPU" slots that are none: `ray.init(num_gpus=N)` gives N workers a place."""

    device_name = NAME
    vendor_name = NAME
    device_module = device_module()

    def is_available(self) -> bool:
        return True

    def current_device(self) -> str:
        return NAME

    def device_count(self) -> int:
        return 0

    def set_device(self, device_index: Any) -> None:
        return

    def synchronize(self, device_index: Any = None) -> None:
        return

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        return

    def empty_cache(self) -> None:
        return

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None:
        return

    def profiler_stop(self) -> None:
        return

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> None:
        return None
