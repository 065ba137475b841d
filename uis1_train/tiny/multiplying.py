"""Matrix products by oneDNN where this torch has it: on some processors twice as fast in float32 as the library that torch's own `linear` asks.

The numbers are those of `torch.nn.functional.linear` up to rounding.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


@cache
def available() -> bool:
    """Whether oneDNN's product is there and right."""
    if not torch.backends.mkldnn.is_available():
        return False
    a, b = torch.ones(2, 3), torch.ones(4, 3)
    try:
        return bool(torch.equal(_product(a, b, None), torch.full((2, 4), 3.0)))
    except (AttributeError, RuntimeError, NotImplementedError):
        return False


def _product(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    """a @ b.T + bias of two matrices."""
    out: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return out


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        flat = x.reshape(-1, x.shape[-1])
        ctx.save_for_backward(flat, weight)
        ctx.biased = bias is not None
        return _product(flat, weight, bias).view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        flat, weight = ctx.saved_tensors
        (grad,) = grads
        rows = grad.reshape(-1, grad.shape[-1])
        to_x = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_x = _product(rows, weight.t().contiguous(), None).view(*grad.shape[:-1], -1)
        if ctx.needs_input_grad[1]:
            to_weight = _product(rows.t().contiguous(), flat.t().contiguous(), None)
        if ctx.biased and ctx.needs_input_grad[2]:
            to_bias = rows.sum(0)
        return to_x, to_weight, to_bias


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias."""
    if x.dtype == torch.float32 and x.device.type == "cpu" and available():
        out: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return out
    return F.linear(x, weight, bias)
