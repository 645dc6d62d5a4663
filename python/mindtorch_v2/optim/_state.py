"""An optimiser's state as plain data, with numbers in the place of parameters, and back."""

from __future__ import annotations

from collections import defaultdict
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from collections.abc import Callable

    State = defaultdict[torch.Tensor, dict[str, Any]]
    ParamGroups = list[dict[str, Any]]


def pack(state: State, param_groups: ParamGroups) -> dict[str, Any]:
    """Return state and groups with each parameter replaced by its number, in the order of the groups."""
    numbers: dict[int, int] = {}
    packed_groups = []
    start = 0
    for group in param_groups:
        params = group["params"]
        for number, param in enumerate(params, start):
            numbers.setdefault(id(param), number)
        start += len(params)
        packed = {key: value for key, value in group.items() if key != "params"}
        packed_groups.append(packed | {"params": [numbers[id(param)] for param in params]})
    packed_state = {numbers[id(key)] if isinstance(key, torch.Tensor) else key: value for key, value in state.items()}
    return {"state": packed_state, "param_groups": packed_groups}


def unpack(
    state_dict: dict[str, Any],
    param_groups: ParamGroups,
    defaults: dict[str, Any],
    keeps_step_beside: Callable[[dict[str, Any], torch.Tensor], bool],
) -> tuple[State, ParamGroups]:
    """Return the state and groups that ``state_dict`` describes, for the parameters of ``param_groups``.

    ``keeps_step_beside`` says of a group and a parameter whether the count of steps lies on the parameter's device.
    """
    loaded_groups = deepcopy(state_dict["param_groups"])
    _check_sizes(loaded_groups, param_groups)
    groups = [_restored(loaded, group, defaults) for loaded, group in zip(loaded_groups, param_groups, strict=True)]
    owners = {
        number: (param, group)
        for saved, group in zip(state_dict["param_groups"], groups, strict=True)
        for number, param in zip(saved["params"], group["params"], strict=True)
    }
    state: State = defaultdict(dict)
    for key, value in state_dict["state"].items():
        if key in owners:
            param, group = owners[key]
            state[param] = _cast(value, param, keeps_step_beside(group, param))
        else:
            # What belongs to no parameter is the optimiser's own, and comes back as it was.
            state[key] = value
    return state, groups


def _check_sizes(loaded_groups: ParamGroups, param_groups: ParamGroups) -> None:
    if len(loaded_groups) != len(param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    for loaded, group in zip(loaded_groups, param_groups, strict=True):
        if len(loaded["params"]) != len(group["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )


def _restored(loaded: dict[str, Any], group: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    restored = loaded | {"params": group["params"]}
    if "param_names" in group:
        restored.setdefault("param_names", group["param_names"])
    # Options that are younger than the file.
    return defaults | restored


def _cast(value: Any, param: torch.Tensor, step_beside: bool, key: object = None) -> Any:
    """Return a copy of ``value`` whose tensors fit ``param``, in device and, where it computes with them, in dtype."""
    if isinstance(value, torch.Tensor):
        if key == "step":
            return value.to(dtype=torch.float32, device=param.device) if step_beside else value
        return value.to(dtype=param.dtype if param.is_floating_point() else value.dtype, device=param.device)
    if isinstance(value, dict):
        return {key: _cast(item, param, step_beside, key) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_cast(item, param, step_beside) for item in value)
    return value
