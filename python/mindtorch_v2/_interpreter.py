"""Refuses to be imported in a subinterpreter, which gets a copy of the extension module with its own check done."""

from mindtorch_v2._core import _check_interpreter

_check_interpreter()
