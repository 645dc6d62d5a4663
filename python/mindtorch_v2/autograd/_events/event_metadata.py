"""What an accelerator's profiler can say of a kernel, a copy or a collective."""

from __future__ import annotations

from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class EventMetadata(NamedTuple):
    """Facts about a device event; None where they are unknown. torch's old form of ``FunctionEvent.metadata``.

    >>> build_metadata({"stream": "7", "grid": "[1, 2, 3]"}).grid
    [1, 2, 3]
    """

    # Of a kernel.
    registers_per_thread: int | None
    shared_memory: int | None
    grid: list[int] | None
    block: list[int] | None
    priority: int | None
    blocks_per_sm: float | None
    warps_per_sm: float | None
    occupancy: dict[str, Any] | None
    est_occupancy_pct: float | None
    queued: int | None
    graph_id: int | None
    graph_node_id: int | None
    stream: int | None
    context: int | None
    channel: int | None
    channel_type: int | None
    hsa_queue: int | None
    # Of a copy.
    bytes: int | None
    bandwidth_gb_s: float | None
    # Of a collective operation.
    collective_name: str | None
    dtype: str | None
    in_msg_nelems: int | None
    out_msg_nelems: int | None
    in_split_size: str | None
    out_split_size: str | None
    global_rank_start: int | None
    global_rank_stride: int | None
    group_size: int | None
    process_group_name: str | None
    process_group_desc: str | None
    group_ranks: str | None
    rank: int | None
    src_rank: int | None
    dst_rank: int | None
    seq: int | None
    is_async: bool | None


# The fields whose name in a trace is not theirs with spaces for underscores.
_TRACE_NAMES = {
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    "est_occupancy_pct": "est. achieved occupancy %",
    "channel_type": "channel_type",
    "hsa_queue": "hsa_queue",
    "bandwidth_gb_s": "memory bandwidth (GB/s)",
    "collective_name": "Collective name",
    "in_msg_nelems": "In msg nelems",
    "out_msg_nelems": "Out msg nelems",
    "in_split_size": "In split size",
    "out_split_size": "Out split size",
    "global_rank_start": "Global rank start",
    "global_rank_stride": "Global rank stride",
    "group_size": "Group size",
    "process_group_name": "Process Group Name",
    "process_group_desc": "Process Group Description",
    "group_ranks": "Process Group Ranks",
    "rank": "Rank",
    "src_rank": "Src Rank",
    "dst_rank": "Dst Rank",
    "seq": "Seq",
    "is_async": "Is asynchronized op",
}


def build_metadata(extra_meta: Mapping[str, str]) -> EventMetadata | None:
    """Return what a trace's texts say; None if they say nothing of it."""
    values = {}
    for field, kind in EventMetadata.__annotations__.items():
        text = extra_meta.get(_TRACE_NAMES.get(field, field.replace("_", " ")))
        # The annotation is the type's text, or the forward reference that typing makes of it.
        values[field] = None if text is None else _parsed(text, getattr(kind, "__forward_arg__", str(kind)))
    return EventMetadata(**values) if any(value is not None for value in values.values()) else None


def _parsed(text: str, kind: str) -> Any:
    if kind.startswith("int"):
        return int(text)
    if kind.startswith("float"):
        return float(text)
    if kind.startswith("str"):
        return text.strip('"')
    if kind.startswith("bool"):
        return text in {"1", "true"}
    # Imported here, since few need it and the package is to be imported quickly.
    import json  # noqa: PLC0415

    return json.loads(text)
