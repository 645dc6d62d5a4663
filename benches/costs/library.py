"""``Library``: ours or PyTorch, inside a worker."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benches.costs.observer import OBSERVERS, EmptyObserver

MODULES = {"ours": "mindtorch_v2", "torch": "torch"}
BRIDGE = "bridge"
"""PyTorch, with our profiler."""
MODES: dict[str, dict[str, bool]] = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "stack": {"with_stack": True},
    "memory": {"profile_memory": True},
    "all": {"record_shapes": True, "with_stack": True, "profile_memory": True},
}


class Library:
    """A library that is shaped like PyTorch, with its profiler."""

    def __init__(self, side: str) -> None:
        self.side = side
        self.torch = import_module("torch" if side == BRIDGE else MODULES[side])
        self.profiler = import_module("mindtorch_v2.profiler" if side == BRIDGE else f"{MODULES[side]}.profiler")
        self.torch.set_num_threads(1)

    def profile(self, mode: str = "plain", **options: Any) -> Any:
        """Return a profiler of the host that records what the mode says."""
        if mode in OBSERVERS:
            return EmptyObserver(self.torch, **OBSERVERS[mode])
        return self.profiler.profile(activities=[self.profiler.ProfilerActivity.CPU], **MODES[mode], **options)

    def add(self, count: int) -> None:
        """Do so many small additions, each of which is one event."""
        small = self.torch.ones(4, 4)
        for _ in range(count):
            small + small

    def recorded(self, events: int) -> Any:
        """Return a profiler that has recorded so many additions, and no event more, and still runs."""
        small = self.torch.ones(4, 4)
        prof = self.profile()
        prof.start()
        for _ in range(events):
            small + small
        return prof
