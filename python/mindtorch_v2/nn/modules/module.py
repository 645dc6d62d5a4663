"""The base of everything that holds parameters and computes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.nn.modules._conversion import Conversion
from mindtorch_v2.nn.modules._hooks import Hooked
from mindtorch_v2.nn.modules._state_dict import StateDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

__all__ = ["Module"]


class Module(Hooked, StateDict, Conversion):
    """What a model and each of its layers is.

    Parameters, buffers and modules that are assigned as attributes become its members. A subclass calls
    ``super().__init__()`` before it assigns any, and defines ``forward``.
    """

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call a function with each module below this one, and then with this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Put this module and all below it into training mode, or out of it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put this module and all below it out of training mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether gradients are to be computed for the parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters, or fill them with zeros."""
        for param in self.parameters():
            if set_to_none or param.grad is None:
                param.grad = None
                continue
            if param.grad.requires_grad:
                param.grad = param.grad.detach()
            param.grad.zero_()

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what the representation is to say of this module itself."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {indent(repr(module))}" for name, module in self._modules.items()]
        if len(own_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra})"
        lines = own_lines + child_lines
        if not lines:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def indent(text: str) -> str:
    """Indent every line but the first, which follows the name of a child."""
    return text.replace("\n", "\n  ")
