"""Loading a model folder the way vLLM's users would, and putting other weights into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uis1_train.merge.merging import MergeFailed


def model_class(config: Any) -> Any:
    """The transformers auto class for a config: with vision or for text alone."""
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    return AutoModelForImageTextToText if type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING else AutoModelForCausalLM


def fill(model: Any, state: Mapping[str, Any], where: str) -> None:
    """Replace every weight of `model` by that of `state`. Raises `MergeFailed` where one is missing, unknown or of another shape.

    A tied output head may be absent: its weights are the embedding's.
    """
    own = dict(model.state_dict())
    shared: dict[int, set[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        shared.setdefault(id(parameter), set()).add(name)
    tied = {name for names in shared.values() if names & state.keys() for name in names}
    missing = sorted(own.keys() - state.keys() - tied)
    unknown = sorted(state.keys() - own.keys())
    if missing or unknown:
        raise MergeFailed(
            f"{where} is not of this architecture: {len(missing)} weights are missing ({', '.join(missing[:3])}), "
            f"{len(unknown)} unknown ({', '.join(unknown[:3])})"
        )
    wrong = [name for name, value in state.items() if value.shape != own[name].shape]
    if wrong:
        name = wrong[0]
        raise MergeFailed(f"{where}: {name} is {tuple(state[name].shape)}, the model has {tuple(own[name].shape)}")
    model.load_state_dict(dict(state), strict=False)
