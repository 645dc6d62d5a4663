"""The members of a module: how parameters, buffers and modules come to be in it, and how they are found."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.nn._typename import typename
from mindtorch_v2.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, MutableMapping

    from mindtorch_v2.nn.modules.module import Module

Hooks = OrderedDict[int, "Callable[..., Any]"]


class Hook(NamedTuple):
    """A hook that is called in one way or another."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False
    with_module: bool = True


class Registry:
    """What holds a module's members and hooks.

    Members are kept out of the instance's dictionary, in one dictionary of each kind, and are found as attributes.
    """

    call_super_init: ClassVar[bool] = False

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, torch.Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Module | None]
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _forward_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _state_dict_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: Hooks

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        self.__dict__.update(_empty_state())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in _empty_state().items():
            self.__dict__.setdefault(name, value)
        self.__dict__.update(state)

    def register_buffer(self, name: str, tensor: torch.Tensor | None, persistent: bool = True) -> None:
        """Add a buffer, which is in the state dict if it is persistent."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or say with ``None`` that the module has none of this name."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name(self, "parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module."""
        if not isinstance(module, Registry) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_name(self, "module", name, self._modules)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Do what ``add_module`` does."""
        self.add_module(name, module)

    def __getattr__(self, name: str) -> torch.Tensor | Module:
        # Reached only where the instance and its class have no such attribute.
        for kind in ("_parameters", "_buffers", "_modules"):
            members = self.__dict__.get(kind)
            if members is not None and name in members:
                member: torch.Tensor | Module = members[name]
                return member
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        parameters = self.__dict__.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(self, name, self.__dict__, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Registry) or name in self.__dict__.get("_modules", ()):
            _set_module(self, name, value)
        elif isinstance(value, Buffer) or name in self.__dict__.get("_buffers", ()):
            _set_buffer(self, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())


# Functions, not methods: a module's methods are for its subclasses to name.


def _check_name(owner: Registry, kind: str, name: str, members: Collection[str]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(owner, name) and name not in members:
        raise KeyError(f"attribute '{name}' already exists")


def _set_module(owner: Registry, name: str, value: Any) -> None:
    modules = owner.__dict__.get("_modules")
    if modules is None:
        raise AttributeError("cannot assign module before Module.__init__() call")
    if isinstance(value, Registry):
        _forget(owner, name, owner.__dict__, owner._parameters, owner._buffers)
    elif value is not None:
        raise TypeError(
            f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
        )
    modules[name] = value


def _set_buffer(owner: Registry, name: str, value: Any) -> None:
    if value is not None and not isinstance(value, torch.Tensor):
        raise TypeError(
            f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
        )
    if isinstance(value, Buffer):
        owner.register_buffer(name, value, value.persistent)
    else:
        owner.register_buffer(name, value, name not in owner._non_persistent_buffers_set)


def _forget(owner: Registry, name: str, *places: MutableMapping[str, Any]) -> None:
    for place in places:
        place.pop(name, None)
    owner._non_persistent_buffers_set.discard(name)


def _empty_state() -> dict[str, Any]:
    # Handles refer to dictionaries of hooks weakly, which they can to an OrderedDict alone.
    return {
        "training": True,
        "_parameters": {},
        "_buffers": {},
        "_non_persistent_buffers_set": set(),
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_forward_hooks": OrderedDict(),
        "_forward_pre_hooks": OrderedDict(),
        "_state_dict_hooks": OrderedDict(),
        "_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_post_hooks": OrderedDict(),
        "_modules": {},
    }
