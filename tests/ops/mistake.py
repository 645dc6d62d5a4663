"""A mistake in a program, and what torch says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Mistake:
    """What raises, the kind of error, and torch's text: ours has the `words`, or all of it where there are none."""

    name: str
    make: Callable[[Any], Any]
    kind: type[Exception]
    text: str
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    def missing_from(self, message: str) -> list[str]:
        return [words for words in self.words or (self.text,) if words not in message]


def message_of(mistake: Mistake, lib: Any) -> str:
    """The text of the error that the mistake raises, which is of its kind."""
    try:
        mistake.make(lib)
    except mistake.kind as error:
        return str(error)
    raise AssertionError(f"{mistake} raises nothing")
