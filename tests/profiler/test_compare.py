"""The comparison of recordings itself: what it lets pass and what it says."""

from __future__ import annotations

import pytest
from tests.profiler import differences
from tests.profiler.compare import Node, Rules, check, first_difference


def tree(name: str, *children: Node, **facts: object) -> Node:
    return Node(name, facts, children)


MATMUL = tree("aten::matmul", tree("aten::mm", tree("aten::resolve_conj"), tree("aten::resolve_conj")), flops=16)


def test_equal_trees_pass() -> None:
    check([MATMUL], [MATMUL], Rules())


def test_the_first_difference_is_shown_as_two_trees() -> None:
    ours = tree("aten::matmul", tree("aten::mm", tree("aten::resolve_conj")), flops=16)
    assert first_difference([MATMUL], [ours], "g01") == "\n".join(
        [
            "inside g01 > aten::matmul > aten::mm",
            "--- torch",
            "  aten::resolve_conj",
            "> aten::resolve_conj",
            "--- ours",
            "  aten::resolve_conj",
        ]
    )


def test_a_long_tree_is_cut_around_the_difference() -> None:
    theirs = [tree(f"step {number}") for number in range(100)]
    shown = first_difference(theirs, [*theirs[:50], tree("another"), *theirs[51:]])
    assert shown is not None
    assert "> step 50" in shown
    assert "> another" in shown
    assert len(shown.splitlines()) < 40


def test_a_fact_that_differs_is_named() -> None:
    ours = tree("aten::matmul", *MATMUL.children, flops=17)
    with pytest.raises(AssertionError, match=r"^flops of g01 > aten::matmul \(child 0\)\ntorch: 16\nours:  17\n"):
        check([MATMUL], [ours], Rules(), "g01")
    check([MATMUL], [ours], Rules(facts={"aten::matmul": ["flops"]}))
    check([MATMUL], [ours], Rules(facts={"*": ["flops"]}))


def test_true_is_not_one() -> None:
    assert first_difference([tree("a", keepdim=True)], [tree("a", keepdim=1)]) is not None
    assert first_difference([tree("a", dims=(1, [2]))], [tree("a", dims=[1, (2,)])]) is None


def test_what_is_absent_is_lifted_out() -> None:
    ours = tree("aten::mm", flops=16)
    check(
        [MATMUL], [tree("aten::matmul", ours, flops=16)], Rules(absent={"aten::resolve_conj"}, facts={"*": ["flops"]})
    )
    check([MATMUL], [ours], Rules(absent={"aten::resolve_conj", "aten::matmul"}, facts={"*": ["flops"]}))


def test_what_is_opaque_is_compared_as_one_step() -> None:
    rules = Rules(opaque={"aten::mm"})
    check([MATMUL], [tree("aten::matmul", tree("aten::mm", tree("another")), flops=16)], rules)
    with pytest.raises(AssertionError):
        check([MATMUL], [tree("aten::matmul", flops=16)], rules)


def test_an_op_alone_in_itself_is_the_same_call() -> None:
    theirs = tree("aten::abs", tree("aten::empty"), tree("aten::abs", tree("aten::copy_")))
    check([theirs], [tree("aten::abs", tree("aten::copy_"))], Rules(absent={"aten::empty"}))
    recursive = tree("fib", tree("fib", is_user_annotation=True), is_user_annotation=True)
    assert first_difference(Rules().apply([recursive]), [tree("fib", is_user_annotation=True)]) is not None


def test_rows_are_read_by_section_and_name() -> None:
    text = "\n".join(
        [
            "## Names",
            "| What torch does | What ours does | Why |",
            "|---|---|---|",
            "| `a.b`, `a \\|= c` and `a.d`: is `x` | is `y` | because |",
            "## Another",
        ]
    )
    found = differences.read(text)
    assert found == {
        "Names": [differences.Difference(("a.b", "a |= c", "a.d"), "is `x`", "is `y`", "because")],
        "Another": [],
    }


def test_the_page_is_complete() -> None:
    """Every row has three cells with something in them, and nothing is said twice in a section."""
    for section, rows in differences.SECTIONS.items():
        facts = [differences.leading_names(row.torch)[0] for row in rows]
        said = [
            (name, fact) for row, known in zip(rows, facts, strict=True) for name in row.names for fact in known or [""]
        ]
        assert len(said) == len(set(said)), section
        for row in rows:
            assert all((row.names, row.torch or section == "Names of backward steps", row.ours, row.why)), row
