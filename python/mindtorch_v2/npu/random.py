"""Random numbers for the accelerators, which are those of the host: the same seed gives the same numbers anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2 import _core
from mindtorch_v2._core import default_generator
from mindtorch_v2.npu.devices import device_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindtorch_v2._core import Tensor
    from mindtorch_v2.npu.devices import Device


def manual_seed(seed: int) -> None:
    """Make the random numbers those that a seed stands for, on the host and on every accelerator."""
    default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Make the random numbers those that a seed stands for, on the host and on every accelerator."""
    default_generator.manual_seed(seed)


def seed() -> None:
    """Make the random numbers such that nobody can foretell them."""
    default_generator.seed()


def seed_all() -> None:
    """Make the random numbers such that nobody can foretell them."""
    default_generator.seed()


def initial_seed() -> int:
    """Return the last seed."""
    return default_generator.initial_seed()


def get_rng_state(device: Device = "npu") -> Tensor:
    """Return the state of the random numbers, which all devices share."""
    _core._npu_index(device)
    return default_generator.get_state()


def get_rng_state_all() -> list[Tensor]:
    """Return the state of the random numbers, once for each accelerator."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Tensor, device: Device = "npu") -> None:
    """Make the state of the random numbers what ``get_rng_state`` returned."""
    _core._npu_index(device)
    default_generator.set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Make the state of the random numbers what ``get_rng_state_all`` returned."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
