"""The same program has the same annotations under both profilers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    import mindtorch_v2.profiler as ours


def scopes(prof: Any) -> Counter[tuple[str, str | None]]:
    annotations = [event for event in prof.events() if event.is_user_annotation]
    return Counter((event.name, event.cpu_parent.name if event.cpu_parent else None) for event in annotations)


def by_thread(prof: Any) -> list[list[str]]:
    threads: dict[int, list[str]] = {}
    for event in prof.events():
        threads.setdefault(event.thread, []).append(event.name)
    return sorted(threads.values())


def test_names_counts_and_parents_agree(torch_profile: torch.profiler.profile, our_profile: ours.profile) -> None:
    assert scopes(our_profile) == scopes(torch_profile)
    assert sum(scopes(our_profile).values()) > 100


def test_each_thread_has_the_same_events_in_the_same_order(
    torch_profile: torch.profiler.profile, our_profile: ours.profile
) -> None:
    assert by_thread(our_profile) == by_thread(torch_profile)
    assert len(by_thread(our_profile)) == 4


def test_averages_have_the_same_rows(torch_profile: torch.profiler.profile, our_profile: ours.profile) -> None:
    def counts(prof: Any) -> list[tuple[str, int]]:
        return [(row.key, row.count) for row in prof.key_averages()]

    assert counts(our_profile) == counts(torch_profile)


def test_attributes_of_an_annotation_agree(torch_profile: torch.profiler.profile, our_profile: ours.profile) -> None:
    attributes = ["name", "key", "trace_name", "count", "scope", "is_async", "is_user_annotation"]

    def shown(prof: Any) -> list[list[Any]]:
        return sorted([getattr(event, attribute) for attribute in attributes] for event in prof.events())

    assert shown(our_profile) == shown(torch_profile)
