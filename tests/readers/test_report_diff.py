"""What a report page says of two traces, beside what ``mtprof diff`` says of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.readers.conftest import ROOT
from tests.readers.report_page import (
    STEPS,
    Report,
    made,
    percent_text,
    seconds_text,
    signed_text,
    told,
    training,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

# Traces of 48 steps: one, one in which an operator is slower and one was added, and the first again.
DATA = ROOT / "crates" / "mtprof" / "tests" / "data"
PAIRS = {
    "slow": ("steps.json", "slow.json"),
    "fast": ("slow.json", "steps.json"),
    "again": ("steps.json", "again.json"),
}
OF_A_CHANGE = ("relative", "interval", "noise", "p_value")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("diffs")
    compared = {
        name: made(directory / f"{name}.html", *(DATA / file for file in files), options=("--diff",))
        for name, files in PAIRS.items()
    }
    before = written(directory / "before.json", training(STEPS))
    after = written(directory / "after.json", training([150.0] * 6, slower=1.5))
    return {**compared, "few": made(directory / "few.html", before, after, options=("--diff",))}


def change_of(row: dict[str, Any]) -> dict[str, Any] | None:
    """The change that a row of ``mtprof diff --json`` is about."""
    changes = [row[of] for of in ("cpu", "device") if row[of]]
    return next((change for change in changes if change["change_ns"] == row["effect_ns"]), None)


@pytest.mark.parametrize("pair", PAIRS)
def test_verdicts_are_those_of_mtprof_diff(report: Report, pages: dict[str, Path], pair: str) -> None:
    report.open(pages[pair])
    expected = json.loads(told("diff", *(DATA / file for file in PAIRS[pair]), "--json"))["rows"]
    # To the last digit, and in the same order.
    rows = report.ask("report.parts['panel-diff'].difference.rows")
    assert [(row["name"], row["kind"], row["verdict"], row["effect_ns"]) for row in rows] == [
        (row["key"]["name"], row["key"]["kind"], row["verdict"], row["effect_ns"]) for row in expected
    ]
    shown = report.table("verdicts")
    assert len(shown) == len(expected)
    tested = 0
    for row, own in zip(expected, rows, strict=True):
        cells = shown[own["name"]]
        assert cells["Verdict"] == row["verdict"]
        assert cells["Effect"] == signed_text(row["effect_ns"], seconds_text(abs(row["effect_ns"])))
        change = change_of(row)
        if not change:
            assert (own["interval"], own["noise"], own["p_value"]) == (None, None, None)
            assert (cells["Between"], cells["Noise"], cells["p"]) == ("", "", "")
            continue
        tested += 1
        assert [own["change"], own["interval"], own["noise"], own["p_value"]] == [change[key] for key in OF_A_CHANGE]
        assert (own["a_ns"], own["b_ns"]) == (change["a_ns"], change["b_ns"])
        low, high = change["interval"]
        assert {
            title: cells[title] for title in ("Change", "Between", "Noise", "p", "Before a step", "After a step")
        } == {
            "Change": percent_text(change["relative"]),
            "Between": f"{percent_text(low)[:-2]} … {percent_text(high)}",
            "Noise": percent_text(change["noise"])[1:],
            "p": f"{change['p_value']:.4f}",
            "Before a step": seconds_text(change["a_ns"]),
            "After a step": seconds_text(change["b_ns"]),
        }
    assert tested == 8


def test_it_says_what_mtprof_diff_says(report: Report, pages: dict[str, Path], screenshots: Path) -> None:
    report.open(pages["slow"])
    lines = told("diff", DATA / "steps.json", DATA / "slow.json").splitlines()
    assert report.page.locator("#diff-headline .verdict").inner_text() == f"{lines[0]}."
    terms = report.page.locator("#diff-headline dt").all_inner_texts()
    facts = report.page.locator("#diff-headline dd").all_inner_texts()
    assert terms == ["Step", "Machine", "A", "B"]
    said = [line[10:] for line in lines[1:5]]
    assert facts == [*said[:2], f"steps: {said[2]}", f"slow: {said[3]}"]
    assert report.page.locator("#diff-headline .note").inner_text() in lines
    # What changed comes first, and of that what matters most to the step.
    shown = report.table("verdicts")
    assert [(name, row["Verdict"]) for name, row in shown.items()][:3] == [
        ("aten::item", "added"),
        ("aten::exp", "slower"),
        ("aten::addmm", "unchanged"),
    ]
    report.page.screenshot(path=screenshots / "report-verdicts.png")
    report.page.emulate_media(color_scheme="dark")
    report.page.screenshot(path=screenshots / "report-verdicts-dark.png")


def test_verdicts_are_filtered_and_lead_to_events(report: Report, pages: dict[str, Path]) -> None:
    report.open(pages["slow"])
    report.page.get_by_label("Filter rows").locator("visible=true").fill("added")
    assert list(report.table("verdicts")) == ["aten::item"]
    report.page.get_by_role("button", name="aten::item").click()
    assert report.selected == "aten::item"
    assert report.page.locator("#search-count").inner_text() == "1 of 48"
    # All steps have one row, and names of their own.
    report.page.get_by_label("Filter rows").locator("visible=true").fill("Profiler")
    report.page.locator("#verdicts-body").get_by_role("button", name="ProfilerStep*").click()
    assert report.page.locator("#search-count").inner_text().endswith(" of 96")


def test_totals_can_be_chosen_and_follow_the_selection(report: Report, pages: dict[str, Path]) -> None:
    report.open(pages["slow"])
    assert not report.page.locator("#totals-body").is_visible()
    report.ask("report.state.selectRange(0, 4_000_000)")
    assert "totals follow the selection" in report.page.locator("#diff-text").inner_text()
    report.page.get_by_label("What is compared").select_option("Totals")
    assert not report.page.locator("#verdicts-body").is_visible()
    selected = report.table("totals")["aten::exp"]
    report.focus()
    report.page.keyboard.press("Escape")
    assert int(selected["Count before"]) < int(report.table("totals")["aten::exp"]["Count before"]) == 48


def test_with_few_steps_it_says_that_nothing_can_be_told(
    report: Report, pages: dict[str, Path], screenshots: Path
) -> None:
    report.open(pages["few"])
    said = report.page.locator("#diff-headline").inner_text()
    assert said.startswith("Changes cannot be told from noise: A has 6 whole steps, and 8 are needed")
    assert "That they differ does not say that anything changed." in said
    assert not report.page.get_by_label("What is compared").is_visible()
    assert not report.page.locator("#verdicts-body").is_visible()
    rows = report.table("totals")
    linear = rows["aten::linear"]
    assert (linear["Total before"], linear["Total after"], linear["Change of total"]) == (
        "180.0 µs",
        "270.0 µs",
        "+90.00 µs",
    )
    assert (linear["Self before"], linear["Self after"], linear["Change of self"], linear["%"]) == (
        "60.00 µs",
        "90.00 µs",
        "+30.00 µs",
        "+50.0 %",
    )
    assert rows["aten::item"]["Change of total"] == "0"
    assert report.page.locator("#labels .process").all_inner_texts() == ["before", "after"]
    # Both begin at their own beginning.
    assert report.ask("report.model.processes.map((process) => process.offset_ns)") == [0, 0]
    report.page.get_by_label("a step").check()
    assert report.table("totals")["aten::linear"]["Total after"] == "45.00 µs"
    report.page.screenshot(path=screenshots / "report-diff.png")
