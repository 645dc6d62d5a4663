"""Walking over a module's members and those of the modules below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from mindtorch_v2.nn.modules._registry import Registry
from mindtorch_v2.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mindtorch_v2 import Tensor
    from mindtorch_v2.nn.modules.module import Module

_Member = TypeVar("_Member")


class Members(Registry):
    """The part of a module that finds its members, by walking or by name."""

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Return an iterator over the parameters, of this module alone unless ``recurse``."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Return an iterator over the parameters and their names."""
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Return an iterator over the buffers, of this module alone unless ``recurse``."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Return an iterator over the buffers and their names."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Return an iterator over the modules directly in this one."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Return an iterator over the modules directly in this one and their names, each module once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Return an iterator over this module and all below it."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Return an iterator over this module and all below it, with their names; those in ``memo`` are left out."""
        itself = cast("Module", self)
        memo = set() if memo is None else memo
        if itself in memo:
            return
        if remove_duplicate:
            memo.add(itself)
        yield prefix, itself
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, _join(prefix, name), remove_duplicate)

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Iterable[tuple[str, _Member | None]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, _Member]]:
        seen: set[int] = set()
        modules: Iterable[tuple[str, Module]] = [(prefix, cast("Module", self))]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for module_prefix, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield _join(module_prefix, name), member

    def get_submodule(self, target: str) -> Module:
        """Return the module of a dotted name, such as ``encoder.layers.0``."""
        module = cast("Module", self)
        for name in target.split(".") if target else []:
            found = _attribute(module, name)
            if not isinstance(found, Members):
                raise AttributeError(f"`{name}` is not an nn.Module")
            module = cast("Module", found)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted name, which with ``strict`` must be that of another."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Members):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            found = _attribute(parent, name)
            if not isinstance(found, Members):
                raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter of a dotted name, such as ``encoder.weight``."""
        path, _, name = target.rpartition(".")
        parameter = _attribute(self.get_submodule(path), name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer of a dotted name, such as ``norm.running_mean``."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return cast("Tensor", buffer)


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _attribute(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)
