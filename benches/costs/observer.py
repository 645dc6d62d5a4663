"""``EmptyObserver``: what PyTorch itself takes to tell someone of its operators."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("observer.cpp")
OBSERVERS = {
    "an observer that does nothing": {},
    "one that is given inputs": {"inputs": True},
    "one that is told of memory": {"memory": True},
    "one that is given all that": {"inputs": True, "memory": True},
}


class EmptyObserver:
    """Is told of every operator, and does nothing."""

    def __init__(self, torch: Any, inputs: bool = False, memory: bool = False) -> None:
        from mindtorch_v2._torch._build import library_for  # noqa: PLC0415 (not for workers without PyTorch)

        self.library = ctypes.CDLL(str(library_for(torch, SOURCE)))
        self.library.observe.restype = ctypes.c_uint64
        self.library.ignore.argtypes = [ctypes.c_uint64, ctypes.c_int]
        self.inputs, self.memory = inputs, memory
        self.handle = 0

    def start(self) -> None:
        """Observe from now on."""
        self.handle = self.library.observe(int(self.inputs), int(self.memory))

    def stop(self) -> None:
        """Observe no longer."""
        self.library.ignore(self.handle, int(self.memory))
