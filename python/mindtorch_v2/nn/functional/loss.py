"""Loss functions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2 import _core
from mindtorch_v2.nn._reduction import get_enum, reduce_loss, resolve

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the squared differences, the mean of which is weighted if there are weights."""
    _warn_of_broadcasting(input, target)
    reduction = resolve(reduction, size_average, reduce)
    if weight is None and input.shape == target.shape:
        return _core.mse_loss(input, target, get_enum(reduction))
    loss = (input - target) ** 2
    return reduce_loss(loss, reduction) if weight is None else _weighted(loss, input, weight, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the absolute differences, the mean of which is weighted if there are weights."""
    _warn_of_broadcasting(input, target)
    reduction = resolve(reduction, size_average, reduce)
    if weight is None:
        return _core.l1_loss(input, target, get_enum(reduction))
    return _weighted((input - target).abs(), input, weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return differences that are squared below ``beta`` and absolute above."""
    _warn_of_broadcasting(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    reduction = resolve(reduction, size_average, reduce)
    difference = (input - target).abs()
    if beta > 0:
        difference = torch.where(difference < beta, difference * difference * (0.5 / beta), difference - 0.5 * beta)
    return reduce_loss(difference, reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Return differences that are squared below ``delta``, and above it grow by ``delta`` times as much."""
    _warn_of_broadcasting(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    difference = (input - target).abs()
    loss = torch.where(difference < delta, difference * difference * 0.5, (difference - 0.5 * delta) * delta)
    if weight is not None:
        _check_weight(input, weight)
        loss = loss * weight
    return reduce_loss(loss, reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative of the inputs, which are log-probabilities, at the classes that the targets name."""
    number = get_enum(resolve(reduction, size_average, reduce))
    if input.dim() < 3:
        return _core.nll_loss(input, target, weight, number, ignore_index)
    if target.shape != (input.shape[0], *input.shape[2:]):
        expected = (input.shape[0], *input.shape[2:])
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")
    # The core has it for one dimension beside that of the classes.
    rows = input.movedim(1, -1).reshape(-1, input.shape[1])
    loss = _core.nll_loss(rows, target.reshape(-1), weight, number, ignore_index)
    return loss if number else loss.reshape(target.shape)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy between logits and targets, which are classes or probabilities of classes."""
    number = get_enum(resolve(reduction, size_average, reduce))
    return _core.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the cross entropy between probabilities of a yes and the targets.

    As torch does, it takes no logarithm to be less than -100.
    """
    reduction = resolve(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    loss = -(target * _bounded_log(input) + (1 - target) * _bounded_log(1 - input))
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross entropy between logits of a yes and the targets."""
    number = get_enum(resolve(reduction, size_average, reduce))
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return _core.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the Kullback-Leibler divergence of log-probabilities from the targets."""
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    reduction = resolve(reduction, size_average, reduce)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        # What has no probability has no part in it, where its logarithm would make NaN of it.
        log = torch.where(target == 0, 1.0, target).log()
        loss = target * (log - input)
    if reduction != "batchmean":
        return reduce_loss(loss, reduction)
    return loss.sum() / input.shape[0] if input.dim() else loss.sum()


def _bounded_log(probability: Tensor) -> Tensor:
    # The logarithm of zero is not taken: its gradient is infinite, and times no gradient it would be NaN.
    is_zero = probability == 0
    return torch.where(is_zero, -100.0, torch.where(is_zero, 1.0, probability).log().clamp(min=-100.0))


def _weighted(loss: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    _check_weight(input, weight)
    weighted = loss * weight
    return weighted.sum() / weight.sum() if reduction == "mean" else reduce_loss(weighted, reduction)


def _check_weight(input: Tensor, weight: Tensor) -> None:
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


def _warn_of_broadcasting(input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )
