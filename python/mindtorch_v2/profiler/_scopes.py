"""``RecordScope``: what kind of function an event stands for."""

from __future__ import annotations

from enum import Enum


class RecordScope(Enum):
    """What ``FunctionEvent.scope`` says: an operator, a step of the backward pass, or something a user named.

    >>> RecordScope(7)
    <RecordScope.USER_SCOPE: 7>
    """

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value
