"""What the accelerators' memory is used for."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mindtorch_v2 import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindtorch_v2.npu.devices import Device

_WIDTH = 75
_BYTES = {
    "allocated_bytes": "Allocated memory",
    "active_bytes": "Active memory",
    "requested_bytes": "Requested memory",
    "reserved_bytes": "NPU reserved memory",
    "inactive_split_bytes": "Non-releasable memory",
}
_COUNTS = {
    "allocation": "Allocations",
    "active": "Active allocs",
    "segment": "NPU reserved segments",
    "inactive_split": "Non-releasable allocs",
}
_OVERSIZE = {"oversize_allocations": "Oversize allocations", "oversize_segments": "Oversize NPU segments"}
_POOLS = {"large_pool": "      from large pool", "small_pool": "      from small pool"}


def memory_stats(device: Device = None) -> dict[str, int]:
    """Return what the memory of an accelerator was used for, under the keys of ``torch.cuda.memory_stats``."""
    return _core._npu_memory_stats(device)


def memory_allocated(device: Device = None) -> int:
    """Return the bytes that tensors have."""
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: Device = None) -> int:
    """Return the most bytes that tensors had since the start or since ``reset_peak_memory_stats``."""
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device: Device = None) -> int:
    """Return the bytes that are set aside for tensors, used or not."""
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device: Device = None) -> int:
    """Return the most bytes that were set aside since the start or since ``reset_peak_memory_stats``."""
    return memory_stats(device)["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: Device = None) -> None:
    """Make the peaks what is in use now."""
    _core._npu_reset_peak_memory_stats(device)


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Make the sums and counts start anew."""
    _core._npu_reset_accumulated_memory_stats(device)


def reset_max_memory_allocated(device: Device = None) -> None:
    """Make all peaks what is in use now, which ``reset_peak_memory_stats`` is the better name for."""
    warnings.warn(
        "npu.reset_max_memory_allocated now calls npu.reset_peak_memory_stats, which resets /all/ peak memory stats.",
        FutureWarning,
        stacklevel=2,
    )
    reset_peak_memory_stats(device)


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Return the bytes of an accelerator that are not set aside, and all that it has."""
    return _core._npu_mem_get_info(device)


def empty_cache() -> None:
    """Give up what is set aside and no tensor uses."""
    _core._npu_empty_cache()


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """Return a table of ``memory_stats``; an abbreviated one leaves the pools out."""
    stats = memory_stats(device)
    title = f"{'':17} MindTorch NPU memory summary, device ID {_core._npu_index(device):<15d}"
    errors = f"{'':12}NPU OOMs: {stats['num_ooms']:<13d}|{'':9}malloc retries: {stats['num_alloc_retries']:<9d}"
    lines = [
        "=" * _WIDTH,
        f"{title:{_WIDTH}}",
        "-" * _WIDTH,
        f"{errors:{_WIDTH}}",
        "=" * _WIDTH,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for metrics, written in ((_BYTES, _size), (_COUNTS, _count)):
        for key, name in metrics.items():
            lines.append("-" * _WIDTH)
            lines.extend(_rows(stats, key, name, written, abbreviated))
    for key, name in _OVERSIZE.items():
        figures = _figures(stats, key)
        lines += ["-" * _WIDTH, _row(name, [_count(figure, figure) for figure in figures])]
    lines.append("=" * _WIDTH)
    return "".join(f"|{line}|\n" for line in lines)


def _rows(
    stats: dict[str, int], key: str, name: str, written: Callable[[int, int], str], abbreviated: bool
) -> Iterator[str]:
    """Yield a line for all memory, and one for each pool, in the units of the first."""
    scales = _figures(stats, f"{key}.all")
    names = {"all": name} | ({} if abbreviated else _POOLS)
    for pool, pool_name in names.items():
        figures = _figures(stats, f"{key}.{pool}")
        yield _row(pool_name, [written(figure, scale) for figure, scale in zip(figures, scales, strict=True)])


def _figures(stats: dict[str, int], key: str) -> list[int]:
    return [stats[f"{key}.{figure}"] for figure in ("current", "peak", "allocated", "freed")]


def _row(name: str, cells: list[str]) -> str:
    return f" {name:<21} | {' | '.join(cells)} "


def _size(value: int, scale: int) -> str:
    """Return bytes in the unit in which ``scale`` has few digits."""
    return _scaled(value, scale, 1024, 768 * 1024, ["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"], 6)


def _count(value: int, scale: int) -> str:
    return _scaled(value, scale, 1000, 750 * 1000, ["  ", "K ", "M "], 7)


def _scaled(value: int, scale: float, step: int, limit: int, units: list[str], digits: int) -> str:
    power = 0
    while scale >= limit and power < len(units) - 1:
        scale /= step
        power += 1
    return f"{value // step**power:{digits}d} {units[power]}"
