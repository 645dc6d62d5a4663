"""Records of memory, found by their time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


class MemRecordsAcc:
    """Finds records of memory by time. A record is a sequence whose first item has a ``start_ns()``.

    >>> class Allocation:
    ...     def __init__(self, ns): self.ns = ns
    ...     def start_ns(self): return self.ns
    >>> records = MemRecordsAcc([(Allocation(30), "c"), (Allocation(10), "a"), (Allocation(20), "b")])
    >>> [name for _, name in records.in_interval(10, 20)]
    ['a', 'b']
    """

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._records = sorted(mem_records, key=_start_ns)
        self._starts = [_start_ns(record) for record in self._records]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """Give the records that start from ``start_ns`` to ``end_ns``, both included, in the order of time."""
        first = bisect_left(self._starts, start_ns)
        yield from self._records[first : bisect_right(self._starts, end_ns)]


def _start_ns(record: Any) -> int:
    start: int = record[0].start_ns()
    return start
