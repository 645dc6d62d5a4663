"""Compares what two profilers recorded of one program: trees of events, each with what is known of it.

Both sides become trees of `Node`. A step that only one library takes is lifted out by name, an op whose inside is
its library's own business keeps no children, and then the trees must be equal: the names and the order of the
children of each node, and its facts. Times, ids and addresses are no facts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

MOST_LINES = 14


@dataclass(frozen=True)
class Node:
    """An event: its name, what else is compared, and the events inside it, in the order of time."""

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


@dataclass(frozen=True)
class Rules:
    """What is not compared, by name.

    `absent`: steps that are lifted out of the tree, and their children with them up to the parent.
    `opaque`: ops that are compared as one step, whatever is inside.
    `renamed`: the name to use instead of a name.
    `facts`: for an op, the facts that are not compared; for "*", of every op.
    """

    absent: Collection[str] = ()
    opaque: Collection[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Collection[str]] = field(default_factory=dict)

    def apply(self, nodes: Iterable[Node]) -> list[Node]:
        """The trees with nothing left in them that is not compared."""
        kept: list[Node] = []
        for node in nodes:
            children = self.apply(node.children)
            # With the names of overloads, `aten::add` is `aten::add.Tensor`: a rule is for all of them.
            name = self.renamed.get(node.name, node.name)
            plain = name.partition(".")[0] if name.startswith("aten::") else name
            if plain in self.absent:
                kept += children
                continue
            # As in `events()`: an op alone in an op of its name is the same call. Lifting makes new ones of these.
            while len(children) == 1 and children[0].name == name and is_op(node):
                children = list(children[0].children)
            hidden = {*self.facts.get("*", ()), *self.facts.get(plain, ())}
            facts = {fact: value for fact, value in node.facts.items() if fact not in hidden}
            if name != node.name:
                facts |= {fact: name for fact in ("key", "trace_name") if fact in facts}
            if isinstance(facts.get("flow"), str):
                way, _, end = facts["flow"].partition(" ")
                facts["flow"] = f"{way} {self.renamed.get(end, end)}"
            kept.append(Node(name, facts, () if plain in self.opaque else tuple(children)))
        return kept


def is_op(node: Node) -> bool:
    return not node.facts.get("is_user_annotation") and not node.facts.get("is_python_function")


def check(theirs: Iterable[Node], ours: Iterable[Node], rules: Rules, where: str = "the program") -> None:
    """Raise with the first difference, if there is one, shown as two short trees."""
    difference = first_difference(rules.apply(theirs), rules.apply(ours), where)
    assert difference is None, difference


def first_difference(theirs: Sequence[Node], ours: Sequence[Node], where: str = "the program") -> str | None:
    """The first difference, the outermost before those below it; None if there is none."""
    waiting = deque([(where, Node(where, {}, tuple(theirs)), Node(where, {}, tuple(ours)))])
    while waiting:
        path, one, other = waiting.popleft()
        if [child.name for child in one.children] != [child.name for child in other.children]:
            return trees(path, one, other)
        for number, (left, right) in enumerate(zip(one.children, other.children, strict=True)):
            inside = f"{path} > {left.name}"
            for fact in sorted({*left.facts, *right.facts}):
                if same(left.facts.get(fact), right.facts.get(fact)):
                    continue
                shown = (replace(side, children=side.children[: number + 1]) for side in (one, other))
                values = f"torch: {left.facts.get(fact)!r}\nours:  {right.facts.get(fact)!r}"
                return f"{fact} of {inside} (child {number})\n{values}\n{trees(path, *shown)}"
            waiting.append((inside, left, right))
    return None


def same(one: Any, other: Any) -> bool:
    """Equal, and of one type, so that True is not 1. A list and a tuple of the same are the same."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    is_nan = one != one and other != other  # noqa: PLR0124
    return type(one) is type(other) and (one == other or is_nan)


def trees(path: str, one: Node, other: Node) -> str:
    """Two trees, cut so that the first line that differs is in sight."""
    left, right = drawn(one), drawn(other)
    at = next((i for i, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(left), len(right)) if at is None else at
    return f"inside {path}\n--- torch\n{cut(left, at)}\n--- ours\n{cut(right, at)}"


def cut(lines: list[str], at: int) -> str:
    first = max(0, min(at - MOST_LINES // 2, len(lines) - MOST_LINES))
    shown = [("> " if first + i == at else "  ") + line for i, line in enumerate(lines[first : first + MOST_LINES])]
    before = [f"  ... {first} before"] if first else []
    rest = len(lines) - first - MOST_LINES
    return "\n".join([*before, *shown, *([f"  ... {rest} more"] if rest > 0 else [])])


def drawn(node: Node, depth: int = 0) -> list[str]:
    """A line for each node below this one, indented. Deep inside, the number of nodes is enough."""
    lines: list[str] = []
    for child in node.children:
        lines.append("  " * depth + child.name)
        lines += drawn(child, depth + 1) if depth < 3 else ["  " * (depth + 1) + "..."] if child.children else []
    return lines
