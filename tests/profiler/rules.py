"""What docs/differences.md says of ops, as the rules that recordings are compared by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.profiler import differences
from tests.profiler.compare import Node, Rules

if TYPE_CHECKING:
    from collections.abc import Iterable


def renamed(section: str) -> dict[str, str]:
    """Rows that begin with a name of torch's and have one of ours in the second cell."""
    rows = differences.SECTIONS[section]
    return {name: row.ours.strip("`") for row in rows for name in row.names}


def facts(section: str) -> dict[str, set[str]]:
    """Rows that begin with the names of ops and end, after a colon, with the facts that differ."""
    found: dict[str, set[str]] = {}
    for row in differences.SECTIONS[section]:
        which, _ = differences.leading_names(row.torch)
        for name in row.names:
            found.setdefault(name, set()).update(which)
    return found


OPS = Rules(
    absent=differences.names("Steps that are not recorded") | {""},
    opaque=differences.names("Inside ops"),
    renamed=renamed("Names of backward steps"),
    facts=facts("Arguments of ops"),
)
# In a trace the arguments have names of their own, and an op without any has none of these.
INPUTS = ("args", "Input Dims", "Input Strides", "Input type", "Concrete Inputs")
TRACES = replace(OPS, facts=dict.fromkeys(OPS.facts, INPUTS))

# Calls of the database of ops that the libraries make of other ops: nothing about them is comparable.
CALLS = differences.names("Calls made of other ops")


def lessened(theirs: Iterable[Node], ours: Iterable[Node]) -> set[str]:
    """The names of the rules that these recordings need to be equal: steps left out, ops not looked into."""
    needed = {node.name for root in theirs for node in root.walk() if node.name in OPS.absent}
    open_rules = replace(OPS, opaque=())
    waiting = [(Node("", {}, tuple(open_rules.apply(theirs))), Node("", {}, tuple(open_rules.apply(ours))))]
    while waiting:
        one, other = waiting.pop()
        if [child.name for child in one.children] != [child.name for child in other.children]:
            needed.add(one.name)
        else:
            waiting += zip(one.children, other.children, strict=True)
    return needed
