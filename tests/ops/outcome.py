"""What a library makes of a case, as plain data that can be compared and stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.ops import run
from tests.ops.compare import plain

if TYPE_CHECKING:
    from tests.ops.op import Case

ERRORS = (RuntimeError, TypeError, IndexError, ValueError)


def results(lib: Any, case: Case, device: str = "cpu") -> dict[str, Any]:
    """The result of each form of the operator. None of them may change the inputs."""
    inputs = run.build(lib, case, device=device)
    before = plain(inputs.bases)
    found = {form: plain(function()) for form, function in case.op.forms(lib, inputs.args, inputs.kwargs).items()}
    assert case.op.changes_inputs or str(plain(inputs.bases)) == str(before), "the inputs have changed"
    return found


def inplace(lib: Any, case: Case, device: str = "cpu") -> Any:
    """The result of the in-place form, or the name of the error that it raises."""
    inputs = run.build(lib, case, fresh=True, device=device)
    try:
        return plain(run.call_inplace(case, inputs))
    except ERRORS as error:
        return next(kind.__name__ for kind in ERRORS if isinstance(error, kind))


def layouts(lib: Any, case: Case) -> dict[str, Any]:
    """By form, of each resulting tensor: strides where they matter, whether it is contiguous, whether it is a view."""
    found = {}
    inputs = run.build(lib, case)
    for form in case.op.forms(lib, inputs.args, inputs.kwargs):
        inputs = run.build(lib, case)
        tensors = list(run.tensors_in(case.op.forms(lib, inputs.args, inputs.kwargs)[form]()))
        inputs.bases[0].zero_()
        found[form] = [_layout(tensor) for tensor in tensors]
    return found


def _layout(tensor: Any) -> list[Any]:
    """The memory behind the tensor has been filled with zeros: only a view can tell."""
    strides = [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]
    is_view = not any(tensor.reshape(-1).tolist())
    return [strides if tensor.numel() else [], tensor.is_contiguous(), is_view]


def requires_grad(lib: Any, case: Case) -> list[bool]:
    """Of each resulting tensor: whether gradients flow through it."""
    inputs = run.build(lib, case, grad=True)
    return [tensor.requires_grad for tensor in run.tensors_in(run.call(lib, case, inputs))]


def gradients(lib: Any, case: Case, device: str = "cpu") -> list[Any]:
    inputs = run.build(lib, case, grad=True, device=device)
    return [plain(grad) for grad in run.gradients(lib, case, inputs, run.call(lib, case, inputs))]


def inplace_gradients(lib: Any, case: Case) -> list[Any]:
    inputs = run.build(lib, case, grad=True, fresh=True)
    return [plain(grad) for grad in run.gradients(lib, case, inputs, run.call_inplace(case, inputs))]


def double_gradients(lib: Any, case: Case) -> list[Any]:
    inputs = run.build(lib, case, grad=True)
    return [plain(grad) for grad in run.double_gradients(lib, case, inputs, run.call(lib, case, inputs))]
