"""``Overhead``: what recording costs the program that is recorded."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mindtorch_v2._core import Results


@dataclass(frozen=True)
class EventCost:
    """What recording an event adds to the program, in nanoseconds.

    Attributes:
        inner_ns: between its two readings of the clock: part of its own time.
        outer_ns: before the first and after the second: part of the time of what is around it.
    """

    inner_ns: int
    outer_ns: int

    @property
    def total_ns(self) -> int:
        """All of it."""
        return self.inner_ns + self.outer_ns


@dataclass(frozen=True)
class Overhead:
    """What recording adds to the program, by kind of event, with what a profiler was asked to keep.

    Attributes:
        op: an operator.
        backward: a node of the backward pass.
        annotation: a ``record_function``.
        runtime: a call of the device's runtime.
        python_function: a call of a Python function.
        memory: an allocation or a free.
        memory_use: something that became known of a block of memory, such as that it is a parameter.
        total_ns: all events of the recording together.

    >>> from mindtorch_v2.profiler import Overhead, profile
    >>> with profile() as prof:
    ...     pass
    >>> isinstance(prof.overhead(), Overhead), prof.overhead().op.total_ns > 0
    (True, True)
    """

    op: EventCost
    backward: EventCost
    annotation: EventCost
    runtime: EventCost
    python_function: EventCost
    memory: EventCost
    memory_use: EventCost
    total_ns: int

    @classmethod
    def _of(cls, results: Results) -> Overhead:
        costs, total_ns = results.overhead()
        return cls(**{kind: EventCost(*cost) for kind, cost in costs.items()}, total_ns=total_ns)
