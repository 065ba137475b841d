"""The faster matrix product gives what torch's own does, gradients included."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from uis1_train.tiny.multiplying import linear


@pytest.mark.parametrize("shape", [(7, 12), (2, 5, 12)])
@pytest.mark.parametrize("biased", [True, False])
def test_values_and_gradients_are_those_of_torch(shape: tuple[int, ...], biased: bool) -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(shape), torch.randn(9, 12), torch.randn(9)
    grad = torch.randn(*shape[:-1], 9)
    found = []
    for function in (linear, F.linear):
        inputs = [t.clone().requires_grad_() for t in (x, weight, bias)]
        out = function(inputs[0], inputs[1], inputs[2] if biased else None)
        out.backward(grad)
        found.append([out.detach(), *(t.grad for t in inputs[: 3 if biased else 2])])
    for mine, theirs in zip(*found, strict=True):
        assert mine is not None
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_frozen_weights_get_no_gradient() -> None:
    x, weight = torch.randn(3, 4, requires_grad=True), torch.randn(2, 4)
    linear(x, weight).sum().backward()
    assert weight.grad is None
    assert x.grad is not None
