"""How times, shares and amounts of memory are written."""

from __future__ import annotations

_US_PER_MS = 1000.0
_US_PER_S = 1_000_000.0
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30


def _format_time(time_us: float) -> str:
    """Return a time in the largest unit of which it is at least one.

    >>> _format_time(999.5), _format_time(1500), _format_time(2_000_000), _format_time(-5000)
    ('999.500us', '1.500ms', '2.000s', '-5000.000us')
    """
    if time_us >= _US_PER_S:
        return f"{time_us / _US_PER_S:.3f}s"
    if time_us >= _US_PER_MS:
        return f"{time_us / _US_PER_MS:.3f}ms"
    return f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    """Return a part of a total in percent.

    >>> _format_time_share(1, 8), _format_time_share(0, 0)
    ('12.50%', 'NaN')
    """
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes: int) -> str:
    """Return an amount of memory in the largest unit of which it is at least one.

    >>> _format_memory(1023), _format_memory(-2048), _format_memory(3 << 30)
    ('1023 B', '-2.00 KB', '3.00 GB')
    """
    size = abs(nbytes)
    for unit, name in ((_GIB, "GB"), (_MIB, "MB"), (_KIB, "KB")):
        if size >= unit:
            return f"{nbytes / unit:.2f} {name}"
    return f"{nbytes} B"
