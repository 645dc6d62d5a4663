"""A module's state as a dictionary: taking it out of the module, and loading it into one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.nn.modules._members import Members
from mindtorch_v2.nn.modules._registry import Hook
from mindtorch_v2.nn.parameter import Parameter
from mindtorch_v2.utils.hooks import RemovableHandle, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2 import Tensor

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """The keys that a module lacks in a state dict, and those that it has no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


class StateDict(Members):
    """The part of a module that gives and takes its state."""

    _version: ClassVar[int] = 1

    def get_extra_state(self) -> Any:
        """Return more of the state than tensors; a module that has such state overrides this."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: override get_extra_state to give it some")

    def set_extra_state(self, state: Any) -> None:
        """Take what ``get_extra_state`` returned; a module that overrides the one overrides the other."""
        raise RuntimeError(f"{type(self).__name__} has no place for {type(state)}: override set_extra_state to take it")

    def state_dict(
        self, *, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return parameters and persistent buffers by name.

        They share memory with the module's own, and are detached from its graph unless ``keep_vars``.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # type: ignore[attr-defined]
        metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            if hook(self, destination, prefix, metadata) is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, tensor in _local_state(self).items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state dict into this module's tensors, or with ``assign`` put its tensors in their place.

        With ``strict``, it is an error if a key is missing or unexpected; a wrong shape always is.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        result = _IncompatibleKeys([], [])
        errors: list[str] = []
        # A copy, which a module may change before it reads from it.
        _load(self, dict(state_dict), "", getattr(state_dict, "_metadata", {}), assign, result, errors)
        if strict:
            for kind, keys in (("Unexpected", result.unexpected_keys), ("Missing", result.missing_keys)):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{kind} key(s) in state_dict: {names}. ")
        if errors:
            lines = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return result

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module alone; one whose state has changed between versions overrides this to read the old one."""
        arguments = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        for hook in self._load_state_dict_pre_hooks.values():
            hook.function(*((self, *arguments) if hook.with_module else arguments))
        assign = local_metadata.get("assign_to_params_buffers", False)
        state = _local_state(self)
        for name, tensor in state.items():
            key = prefix + name
            if key in state_dict:
                error = _load_tensor(self, name, key, tensor, state_dict[key], assign)
                error_msgs.extend([error] if error else [])
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            own_keys = (key for key in state_dict if key.startswith(prefix) and key != extra_key)
            unexpected_keys.extend(key for key in own_keys if not _has_place_for(self, key[len(prefix) :], state))

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads this module."""
        return register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict`` has read this module.

        The hook may change the dictionary, and returns nothing.
        """
        return register(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call a hook with this module and the arguments of ``_load_from_state_dict`` before it is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        return register(self._load_state_dict_pre_hooks, Hook(hook, with_module=with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after this module and those below it have been loaded."""
        return register(self._load_state_dict_post_hooks, hook)


# Functions, not methods: a module's methods are for its subclasses to name.


def _local_state(module: StateDict) -> dict[str, Tensor]:
    left_out = module._non_persistent_buffers_set
    persistent = ((name, buffer) for name, buffer in module._buffers.items() if name not in left_out)
    return {name: tensor for name, tensor in chain(module._parameters.items(), persistent) if tensor is not None}


def _load(
    module: StateDict,
    state_dict: dict[str, Any],
    prefix: str,
    metadata: Mapping[str, dict[str, Any]],
    assign: bool,
    result: _IncompatibleKeys,
    errors: list[str],
) -> None:
    """Load a module and those below it, and note in ``result`` and ``errors`` what did not fit."""
    local_metadata = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local_metadata["assign_to_params_buffers"] = True
    module._load_from_state_dict(state_dict, prefix, local_metadata, True, *result, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {key: value for key, value in state_dict.items() if key.startswith(below)}
            _load(child, part, below, metadata, assign, result, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, result) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                "values, if incompatible_keys need to be modified, it should be done inplace."
            )


def _load_tensor(module: StateDict, name: str, key: str, tensor: Tensor, loaded: Any, assign: bool) -> str:
    """Load one tensor, and return what is wrong with it."""
    if not isinstance(loaded, torch.Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
            f"from checkpoint but received {type(loaded)}"
        )
    if loaded.shape != tensor.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, "
            f"the shape in current model is {tensor.shape}."
        )
    with torch.no_grad():
        if not assign:
            tensor.copy_(loaded)
        elif not isinstance(tensor, Parameter):
            setattr(module, name, loaded)
        elif isinstance(loaded, Parameter):
            setattr(module, name, loaded.requires_grad_(tensor.requires_grad))
        else:
            setattr(module, name, Parameter(loaded, tensor.requires_grad))
    return ""


def _has_place_for(module: StateDict, name: str, state: Mapping[str, Tensor]) -> bool:
    first, dot, _ = name.partition(".")
    return first in module._modules if dot else first in state
