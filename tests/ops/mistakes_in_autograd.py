"""Gradients that cannot be had, and tensors that must not be changed."""

from __future__ import annotations

from typing import Any

from tests.ops.mistake import Mistake


def leaf(torch: Any) -> Any:
    return torch.ones(3, requires_grad=True)


def backward_twice(torch: Any) -> None:
    total = (leaf(torch) ** 2).sum()
    total.backward()
    total.backward()


def change_a_result_that_was_saved(torch: Any) -> None:
    result = leaf(torch).exp()
    result.add_(1)
    result.sum().backward()


def change_an_input_that_was_saved(torch: Any) -> None:
    factor = leaf(torch) * 1
    product = factor * factor
    factor.add_(1)
    product.sum().backward()


def change_a_view_of_what_was_saved(torch: Any) -> None:
    base = leaf(torch).clone()
    power = base.pow(2)
    base[0] = 0
    power.sum().backward()


def switch_off(torch: Any) -> None:
    (leaf(torch) * 2).requires_grad = False


def assign_gradient(torch: Any) -> None:
    leaf(torch).grad = torch.zeros(2)


SAVED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation",
    "is at version 1; expected version 0 instead",
)
HINT = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)

MISTAKES = [
    Mistake(
        "backward of many",
        lambda torch: (leaf(torch) * 2).backward(),
        RuntimeError,
        "grad can be implicitly created only for scalar outputs",
    ),
    Mistake(
        "backward without a graph",
        lambda torch: torch.zeros(()).backward(),
        RuntimeError,
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    Mistake(
        "backward twice",
        backward_twice,
        RuntimeError,
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
        "saved tensors after calling backward.",
    ),
    Mistake(
        "backward with another shape",
        lambda torch: (leaf(torch) * 2).backward(torch.ones(2)),
        RuntimeError,
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of "
        "torch.Size([3]).",
        ("Mismatch in shape: grad_output[0] has a shape of", "and output[0] has a shape of"),
    ),
    Mistake(
        "the gradient of what was not used",
        lambda torch: torch.autograd.grad(leaf(torch).sum(), leaf(torch)),
        RuntimeError,
        "The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if "
        "this is the desired behavior.",
        ("appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.",),
    ),
    Mistake(
        "the gradient of a constant",
        lambda torch: torch.autograd.grad(leaf(torch).sum(), torch.ones(3)),
        RuntimeError,
        "One of the differentiated Tensors does not require grad",
    ),
    Mistake(
        "changing a leaf",
        lambda torch: leaf(torch).add_(1),
        RuntimeError,
        "a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    Mistake(
        "changing a view of a leaf",
        lambda torch: leaf(torch)[0:1].add_(1),
        RuntimeError,
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    Mistake(
        "writing into a leaf",
        lambda torch: leaf(torch).__setitem__(0, 1.0),
        RuntimeError,
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    Mistake(
        "changing a saved result",
        change_a_result_that_was_saved,
        RuntimeError,
        f"{SAVED[0]}: [torch.FloatTensor [3]], which is output 0 of Exp, {SAVED[1]}. {HINT}",
        SAVED,
    ),
    Mistake(
        "changing a saved input",
        change_an_input_that_was_saved,
        RuntimeError,
        f"{SAVED[0]}: [torch.FloatTensor [3]], which is output 0 of Add, {SAVED[1]}. {HINT}",
        SAVED,
    ),
    Mistake(
        "changing a view of a saved input",
        change_a_view_of_what_was_saved,
        RuntimeError,
        f"{SAVED[0]}: [torch.FloatTensor [3]], which is output 0 of torch::autograd::CopySlices, {SAVED[1]}. {HINT}",
        SAVED,
    ),
    Mistake(
        "changing what is expanded",
        lambda torch: torch.zeros(1).expand(3).add_(1),
        RuntimeError,
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        "Please clone() the tensor before performing the operation.",
    ),
    Mistake(
        "integers that require gradients",
        lambda torch: torch.zeros(2, dtype=torch.int64, requires_grad=True),
        RuntimeError,
        "Only Tensors of floating point and complex dtype can require gradients",
    ),
    Mistake(
        "integers made to require gradients",
        lambda torch: torch.zeros(2, dtype=torch.int64).requires_grad_(),
        RuntimeError,
        "only Tensors of floating point dtype can require gradients",
        ("only Tensors of floating point", "dtype can require gradients"),
    ),
    Mistake(
        "switching off gradients of a result",
        switch_off,
        RuntimeError,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
        "subgraph that doesn't require differentiation use var_no_grad = var.detach().",
    ),
    Mistake(
        "a gradient of another shape",
        assign_gradient,
        RuntimeError,
        "attempting to assign a gradient of size '[2]' to a tensor of size '[3]'. Please ensure that the gradient and "
        "the tensor are the same size",
    ),
    Mistake(
        "numpy of what requires gradients",
        lambda torch: leaf(torch).numpy(),
        RuntimeError,
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    ),
]
