"""A table of names."""

from __future__ import annotations

from collections import defaultdict


class StringTable(defaultdict[str, str]):
    """Gives each name that it is asked for as it is.

    torch's takes any text for a C++ symbol and gives the type that it would stand for; a user's name is no symbol.

    >>> StringTable()["PKc"]
    'PKc'
    """

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key
