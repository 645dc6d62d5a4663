"""``EmptyObserver``: what PyTorch and Python themselves take to tell someone of what they do."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("observer.cpp")
TOLD: dict[str, dict[str, bool]] = {
    "plain": {},
    "shapes": {"inputs": True},
    "stack": {"functions": True},
    "memory": {"memory": True},
    "all": {"inputs": True, "functions": True, "memory": True},
}
OBSERVERS: dict[str, dict[str, bool]] = {
    "an observer that does nothing": {},
    **{f"{mode}: only told, and the clock read": {"clock": True, **told} for mode, told in TOLD.items()},
}


class EmptyObserver:
    """Is told of every operator and keeps nothing. Without ``clock`` it does not ask when operators begin and end."""

    def __init__(
        self, torch: Any, clock: bool = False, inputs: bool = False, functions: bool = False, memory: bool = False
    ) -> None:
        from mindtorch_v2._torch._build import library_for  # noqa: PLC0415 (not for workers without PyTorch)

        self.library = ctypes.CDLL(str(library_for(torch, SOURCE)))
        self.library.observe.restype = ctypes.c_uint64
        self.library.ignore.argtypes = [ctypes.c_uint64, ctypes.c_int]
        self.clock, self.inputs, self.functions, self.memory = clock, inputs, functions, memory
        self.handle = 0

    def start(self) -> None:
        """Observe from now on."""
        self.handle = self.library.observe(int(self.clock), int(self.inputs), int(self.memory))
        if self.functions:
            ctypes.pythonapi.PyEval_SetProfile(self.library.function_event, None)

    def stop(self) -> None:
        """Observe no longer."""
        if self.functions:
            ctypes.pythonapi.PyEval_SetProfile(None, None)
        self.library.ignore(self.handle, int(self.memory))
