"""What share of a table's total an item is, in percent. torch writes it into the items that it prints."""

from __future__ import annotations

from mindtorch_v2.autograd._events.device_type import DeviceType
from mindtorch_v2.autograd._events.formats import _format_time_share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from mindtorch_v2.autograd._events.recorded import Source

# The time that each share is of.
SHARES = {
    "self_cpu_percent": "self_cpu_time_total",
    "total_cpu_percent": "cpu_time_total",
    "total_device_percent": "self_device_time_total",
}


def share_of(item: Any, name: str, host_us: float, device_us: float) -> str | int:
    """Return one of the shares, given the totals."""
    if name == "total_cpu_percent" and item.is_async:
        return 0
    if name == "total_device_percent":
        return share(item.self_device_time_total, device_us) if device_us > 0 else -1
    return share(getattr(item, SHARES[name]), host_us)


def recorded_share(item: Any, name: str, source: Source) -> str | int:
    """Return one of the shares in the table of a recording that was printed last; -1 if none was."""
    if not source.is_printed:
        return -1
    if source.totals is None:
        rows = source.rows
        groups = rows
        if hasattr(rows, "children"):
            groups = rows.key_averages(by_shape=False, stack_depth=0, by_overload=False, python_functions=True)
        source.totals = rows.self_cpu_time_total, _device_total(groups)
    return share_of(item, name, *source.totals)


def _device_total(groups: Any) -> float:
    total: float = sum(
        groups.attribute(index, "self_device_time_total")
        for index in range(len(groups))
        if groups.attribute(index, "device_type") and not groups.attribute(index, "is_user_annotation")
    )
    return total


def is_device_work(item: Any) -> bool:
    """Return whether an item's device time is a part of the device's total: others repeat it."""
    if item.device_type is DeviceType.CPU:
        # In the legacy form the kernels' time is in the host's events.
        return bool(item.is_legacy)
    return not item.is_user_annotation


def set_shares(items: Iterable[Any]) -> None:
    """Write their shares into items that were made or changed by the user."""
    items = list(items)
    host_us = sum(item.self_cpu_time_total for item in items)
    device_us = sum(item.self_device_time_total for item in items if is_device_work(item))
    for item in items:
        for name in SHARES:
            # Past the item's own way, which would take it for a change by the user.
            object.__setattr__(item, name, share_of(item, name, host_us, device_us))


def share(time_us: float, total_us: float) -> str:
    """Return a part of a total in percent; self times may cancel out where events overlap, then there is no total."""
    return _format_time_share(time_us, total_us) if total_us else "NaN"
