"""What a notebook shows of recordings."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function


def recording() -> profile:
    with profile() as prof, record_function("<outer> & more"):
        torch.ones(2) + torch.ones(2)
    return prof


def test_averages_are_shown_as_the_table_is() -> None:
    averages = recording().key_averages()
    html = averages._repr_html_()
    table = ET.fromstring(html[html.index("<table") : html.index("</table>") + len("</table>")])
    headings = [cell.text for cell in table.iter("th")]
    rows = [[cell.text or "" for cell in row.iter("td")] for row in table.iter("tr")][1:]
    lines = averages.table().splitlines()
    assert headings == re.split(" {2,}", lines[1].strip())
    assert [" ".join(row) for row in rows] == [" ".join(line.split()) for line in lines[3:-2]]
    assert "<outer> & more" in [row[0] for row in rows]
    assert lines[-1] in html


def test_a_list_that_was_changed_is_shown_as_it_is() -> None:
    averages = recording().key_averages()
    del averages[1:]
    html = averages._repr_html_()
    assert html.count("<tr>") == 2


def test_a_profiler_shows_its_timeline_and_the_largest_averages() -> None:
    html = recording()._repr_html_()
    assert html is not None
    picture = ET.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])
    titles = {title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")}
    assert "<outer> & more" in titles
    assert "Trace of" in html
    assert "aten::add" in html


def test_only_the_largest_averages_are_shown() -> None:
    with profile() as prof:
        for number in range(30):
            with record_function(f"scope {number}"):
                pass
    html = prof.trace()._repr_html_()
    assert html.count("<tr>") == 11


def test_a_profiler_that_recorded_nothing_is_shown_as_an_object() -> None:
    assert profile()._repr_html_() is None
    with profile() as prof:
        pass
    assert prof._repr_html_() is not None
