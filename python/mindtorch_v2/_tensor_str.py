"""How tensors are printed: as torch prints them."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindtorch_v2 import Tensor

    Number = int | float | bool

__all__ = ["get_printoptions", "printoptions", "set_printoptions", "tensor_repr"]


@dataclasses.dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}
_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; what is not given stays, but for ``sci_mode``, which is then chosen by the values.

    Args:
        precision: the digits after the point.
        threshold: the number of elements above which a tensor is summarised.
        edgeitems: the elements at each end of a dimension that a summary has.
        linewidth: the characters in a line.
        profile: ``default``, ``short`` or ``full``, which the other options change.
        sci_mode: whether numbers are written with an exponent.
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"profile must be one of {', '.join(_PROFILES)}, but got {profile!r}")
        vars(_options).update(vars(_PROFILES[profile]))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    vars(_options).update({name: value for name, value in given.items() if value is not None})
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the options, as ``set_printoptions`` takes them."""
    return dataclasses.asdict(_options)


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Set options until the end of a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


def tensor_repr(tensor: Tensor) -> str:
    """Return what ``repr`` gives of a tensor."""
    is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
    prefix = "tensor(" if is_plain else f"{type(tensor).__name__}("
    with torch.no_grad():
        contents = _contents(tensor.detach(), len(prefix))
    text = _with_suffixes(prefix + contents, _suffixes(tensor), len(prefix)) + ")"
    if isinstance(tensor, torch.nn.Parameter) and not is_plain:
        return f"Parameter({text})"
    return text


def _suffixes(tensor: Tensor) -> list[str]:
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    is_empty = tensor.numel() == 0
    if (is_empty and tensor.dim() != 1) or (not is_empty and not _options.edgeitems):
        suffixes.append(f"size={tuple(tensor.shape)}")
    # The elements show that they are integers or truth values, if there are any.
    obvious = (torch.get_default_dtype(),) if is_empty else (torch.get_default_dtype(), torch.int64, torch.bool)
    if tensor.dtype not in obvious:
        suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name().rsplit('::', 1)[-1]}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if line + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            line = indent + len(suffix)
        else:
            text += ", " + suffix
            line += len(suffix) + 2
    return text


def _contents(tensor: Tensor, indent: int) -> str:
    if tensor.numel() == 0:
        return "[]"
    if tensor.numel() <= _options.threshold:
        return _format_nested(tensor.tolist(), [False] * tensor.dim(), indent, _Formatter(tensor))
    if not _options.edgeitems:
        return "[...]"
    edge = _options.edgeitems
    is_cut = [size > 2 * edge for size in tensor.shape]
    for dim, size in enumerate(tensor.shape):
        if is_cut[dim]:
            tensor = torch.cat([tensor.narrow(dim, 0, edge), tensor.narrow(dim, size - edge, edge)], dim)
    return _format_nested(tensor.tolist(), is_cut, indent, _Formatter(tensor))


def _format_nested(values: Any, is_cut: list[bool], indent: int, formatter: _Formatter) -> str:
    """Return the text of nested lists; of a dimension that is cut, the middle is missing."""
    if not is_cut:
        return formatter.format(values)
    cut_here, cut_below = is_cut[0], is_cut[1:]
    edge = _options.edgeitems
    if cut_below:
        parts = [_format_nested(value, cut_below, indent + 1, formatter) for value in values]
        if cut_here:
            parts.insert(edge, "...")
        separator = "," + "\n" * len(cut_below) + " " * (indent + 1)
        return "[" + separator.join(parts) + "]"
    parts = [formatter.format(value) for value in values]
    if cut_here:
        parts.insert(edge, " ...")
    per_line = max(1, (_options.linewidth - indent) // (formatter.width + 2))
    lines = [", ".join(parts[start : start + per_line]) for start in range(0, len(parts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


class _Formatter:
    """Writes every element of a tensor in the same way and with the same width."""

    def __init__(self, tensor: Tensor) -> None:
        self.width = 1
        self._is_floating = tensor.dtype.is_floating_point
        self._is_integral = True
        self._is_scientific = False
        values: list[Number] = tensor.reshape(-1).tolist()
        if self._is_floating:
            values = [value for value in values if math.isfinite(value) and value != 0]
            if not values:
                return
            self._choose_notation([abs(value) for value in values])
        self.width = max(len(self._written(value)) for value in values)

    def _choose_notation(self, magnitudes: list[Number]) -> None:
        least, greatest = min(magnitudes), max(magnitudes)
        self._is_integral = all(value == math.floor(value) for value in magnitudes)
        if _options.sci_mode is None:
            self._is_scientific = greatest / least > 1000 or greatest > 1e8 or least < 1e-4
        else:
            self._is_scientific = _options.sci_mode

    def _written(self, value: Number) -> str:
        if not self._is_floating:
            return str(value)
        if self._is_scientific:
            return f"{value:.{_options.precision}e}"
        if self._is_integral:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{_options.precision}f}"

    def format(self, value: Number) -> str:
        """Return the text of one element."""
        return self._written(value).rjust(self.width)
