"""The averages, and the times as text, of what has sums of times and a count."""

from __future__ import annotations

from mindtorch_v2.autograd._events.formats import _format_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def warn_deprecated(message: str) -> None:
    """Warn whoever used a deprecated property, which calls this."""
    # Imported here, since few need it and the package is to be imported quickly.
    import warnings  # noqa: PLC0415

    warnings.warn(message, FutureWarning, stacklevel=3)


def deprecated_alias(message: str, name: str) -> property:
    """Return a property that warns and gives the attribute ``name``."""

    def get(self: object) -> object:
        warn_deprecated(message)
        return getattr(self, name)

    get.__doc__ = message
    return property(get)


def _attr_formatter(name: str) -> property:
    """Return a property that gives the time in the attribute ``name`` as text."""
    get: Callable[[object], str] = lambda self: _format_time(getattr(self, name))  # noqa: E731
    get.__doc__ = f"``{name}`` as text, such as '1.500ms'."
    return property(get)


class FormattedTimesMixin:
    """Averages and texts for classes with ``*_time_total`` in microseconds and a ``count``.

    >>> class Row(FormattedTimesMixin):
    ...     count, cpu_time_total, device_time_total = 4, 6000.0, 0.0
    >>> Row().cpu_time, Row().cpu_time_str, Row().cpu_time_total_str
    (1500.0, '1.500ms', '6.000ms')
    """

    __slots__ = ()
    if TYPE_CHECKING:
        count: int

    cpu_time_str = _attr_formatter("cpu_time")
    device_time_str = _attr_formatter("device_time")
    cpu_time_total_str = _attr_formatter("cpu_time_total")
    device_time_total_str = _attr_formatter("device_time_total")
    self_cpu_time_total_str = _attr_formatter("self_cpu_time_total")
    self_device_time_total_str = _attr_formatter("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        """The host's time of one call, on average."""
        return self._average("cpu_time_total")

    @property
    def device_time(self) -> float:
        """The device's time of one call, on average."""
        return self._average("device_time_total")

    cuda_time = deprecated_alias("`cuda_time` is deprecated, please use `device_time` instead.", "device_time")

    def _average(self, name: str) -> float:
        total: float = getattr(self, name)
        return total / self.count if self.count else 0.0
