"""What docs/differences.md says of ops, as the rules that recordings are compared by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.profiler import differences
from tests.profiler.compare import Node, Rules, same

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# What comes before the name of a node in the name of the step that runs it.
RUNS = "autograd::engine::evaluate_function: "


def renamed(section: str) -> dict[str, str]:
    """Rows that begin with names of torch's and have the one of ours in the second cell; for what runs them too."""
    rows = differences.SECTIONS[section]
    names = {name: row.ours.strip("`") for row in rows for name in row.names}
    return names | {f"{RUNS}{name}": f"{RUNS}{ours}" for name, ours in names.items()}


def facts(section: str) -> dict[str, set[str]]:
    """Rows that begin with the names of ops; the rest of the cell begins with the facts that differ."""
    found: dict[str, set[str]] = {}
    for row in differences.SECTIONS[section]:
        which, _ = differences.leading_names(row.torch)
        for name in row.names:
            found.setdefault(name, set()).update(which)
    return found


OPS = Rules(
    # A frame of a library has no name.
    absent=differences.names("Steps that are not recorded") | {""},
    opaque=differences.names("Inside ops"),
    renamed=renamed("Names of backward steps"),
    facts=facts("What is known of ops"),
)

# In a trace the arguments have names of their own, and an op without any has none of these.
INPUTS = ("args", "Input Dims", "Input Strides", "Input type", "Concrete Inputs")
TRACES = replace(OPS, facts=dict.fromkeys(OPS.facts, INPUTS))

# Calls of the database of ops that the libraries make of other ops: ops or cases, or `backward of` one of these.
CALLS = differences.names("Calls made of other ops")

# Layouts of inputs, as the database names them, that results have in torch and not in ours.
LAYOUTS = differences.names("Layouts")


def for_layouts(layouts: Iterable[str]) -> Rules:
    """The rules for a program whose inputs have these layouts."""
    if LAYOUTS.isdisjoint(layouts):
        return OPS
    return replace(OPS, facts={**OPS.facts, "*": {"structured_input_strides"}})


def for_program(golden: str) -> Rules:
    """The rules for the program of a golden."""
    hidden = facts("Programs of the goldens").get(golden, set())
    return replace(OPS, facts={**OPS.facts, "*": hidden})


def needed(theirs: Iterable[Node], ours: Iterable[Node]) -> set[str]:
    """The names of the rules that these recordings need to be equal.

    The steps that are left out, the ops that are not looked into, and `op fact` for what is not compared of an op.
    """
    found = {node.name for root in theirs for node in root.walk() if node.name in OPS.absent}
    rules = replace(OPS, opaque=(), facts={})
    waiting: list[tuple[str, Sequence[Node], Sequence[Node]]] = [("", rules.apply(theirs), rules.apply(ours))]
    while waiting:
        name, one, other = waiting.pop()
        if [node.name for node in one] != [node.name for node in other]:
            found.add(name)
            continue
        for left, right in zip(one, other, strict=True):
            differing = {fact for fact in left.facts if not same(left.facts[fact], right.facts.get(fact))}
            found |= {f"{left.name} {fact}" for fact in differing}
            if differing - set(OPS.facts.get(left.name, ())):
                found.add(name)
            waiting.append((left.name, left.children, right.children))
    return found
