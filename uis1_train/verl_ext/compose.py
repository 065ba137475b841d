"""A run's configuration: ours by name, or a file of the user's, over verl's own `ppo_trainer`; resolved without a GPU and without Ray."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from sopbench.errors import UsageError

PACKAGE = "uis1_train.verl_ext.configs"
SEARCH_PATH = f"hydra.searchpath=[pkg://{PACKAGE},pkg://verl.trainer.config]"
HIDDEN = ("base",)


def config_names() -> list[str]:
    """The configurations that the package has."""
    files = resources.files(PACKAGE).iterdir()
    return sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml") and f.name[:-5] not in HIDDEN)


def compose_config(config: str, overrides: Sequence[str] = ()) -> Any:
    """The configuration called `config`, or in the file of that path, with Hydra overrides (`uis1.gamma=0`, `+a.b=c`), as an OmegaConf `DictConfig`.

    A file may build on one of ours with `defaults: [uis1_7b, _self_]`. Raises `UsageError` that says which name or value is wrong.
    """
    from hydra import compose, initialize_config_dir, initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    path = Path(config)
    in_file = path.suffix in (".yaml", ".yml")
    if in_file and not path.is_file():
        raise UsageError(f"there is no configuration file {path}")
    if not in_file and config not in config_names():
        raise UsageError(
            f"no configuration is called {config!r}: choose one of {', '.join(config_names())}, or give a .yaml file"
        )
    GlobalHydra.instance().clear()
    where = (
        initialize_config_dir(str(path.parent.absolute()), version_base=None)
        if in_file
        else initialize_config_module(PACKAGE, version_base=None)
    )
    try:
        with where:
            composed = compose(path.stem if in_file else config, overrides=[SEARCH_PATH, *overrides])
        OmegaConf.to_container(composed, resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(f"configuration {config}: {told(error)}") from error
    return composed


def told(error: Exception) -> str:
    """What a user can act on in an error of Hydra's: its own first lines, and the cause beneath them."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("    ")]
    text = " ".join(lines[:3])
    cause = error.__cause__
    return f"{text} ({str(cause).splitlines()[0]})" if cause is not None and str(cause) else text
