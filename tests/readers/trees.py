"""What a reader says of the order and nesting of spans, as trees that can be compared.

`docs/differences.md` says where our operators are made of others than torch's; the rest must be equal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.profiler.compare import Node
from tests.profiler.rules import OPS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

# Only names are compared: what else is known of an operator is not a reader's answer.
RULES = replace(OPS, facts={})


def planted(spans: Iterable[tuple[Hashable, Hashable, str]]) -> list[Node]:
    """Trees of spans in the order of their beginnings: each one's id, its parent's and its name.

    A parent that is not among them, as -1 and None are not, makes a root. A span without a name is left out, and what
    is inside it is inside its parent.
    """
    listed = list(spans)
    known = {number for number, _, _ in listed}
    children: dict[Any, list[tuple[Hashable, str]]] = {}
    for number, parent, name in listed:
        children.setdefault(parent if parent in known else None, []).append((number, name))
    return grown(children, None)


def grown(children: Mapping[Any, list[tuple[Hashable, str]]], parent: Hashable) -> list[Node]:
    found = children.get(parent, [])
    return [Node(name, {}, tuple(grown(children, number))) for number, name in found]
