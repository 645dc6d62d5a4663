"""Small programs that change tensors through indices and views: `x` is 4 by 5, `v` has 5 elements."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.ops import run
from tests.ops.compare import plain
from tests.ops.spec import t

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS: list[Callable[[Any, Any, Any], Any]] = []


def program(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    PROGRAMS.append(function)
    return function


def outcome(lib: Any, function: Callable[[Any, Any, Any], Any], device: str = "cpu") -> list[Any]:
    """What the program returns, then the gradients of what its `x` and `v` were made of."""
    rng = random.Random(function.__name__)
    x, v = (t(*shape).data("float32", rng).tensor(lib, device).requires_grad_() for shape in ((4, 5), (5,)))
    results = function(lib, x.clone(), v.clone())
    run.weighted_sum(lib, results, function.__name__).backward()
    return [plain(results), plain(x.grad), plain(v.grad)]


@program
def add_to_a_slice(_torch: Any, x: Any, v: Any) -> Any:
    x[1:3] += 1
    x[:, 0] += 2
    return x


@program
def multiply_a_slice_by_a_tensor(_torch: Any, x: Any, v: Any) -> Any:
    x[1:3] *= v
    return x


@program
def divide_one_element(_torch: Any, x: Any, v: Any) -> Any:
    x[2, 3] /= 4
    return x


@program
def write_through_a_transpose(_torch: Any, x: Any, v: Any) -> Any:
    x.t()[0] = v[:4]
    x.t()[1, 2] = 7.0
    return x


@program
def write_through_a_view_of_a_view(_torch: Any, x: Any, v: Any) -> Any:
    view = x.view(2, 2, 5)[1]
    view[0, 1:4] = v[:3]
    view.mul_(2)
    return x, view


@program
def change_the_base_and_read_the_view(_torch: Any, x: Any, v: Any) -> Any:
    view = x[1:3]
    x.mul_(3)
    return view * v


@program
def change_the_view_and_read_the_base(_torch: Any, x: Any, v: Any) -> Any:
    column = x[:, 1]
    column.mul_(v[:4])
    column += 1
    return x, column


@program
def two_views_of_one_base(_torch: Any, x: Any, v: Any) -> Any:
    left, right = x[:, :3], x[:, 2:]
    left *= 2
    right.add_(v[2:])
    return x, left


@program
def views_from_split_and_select(torch: Any, x: Any, v: Any) -> Any:
    x.select(0, 1).copy_(v)
    x.narrow(1, 0, 2).zero_()
    torch.unsqueeze(x, 0)[0, 3].neg_()
    return x


@program
def write_with_a_list(_torch: Any, x: Any, v: Any) -> Any:
    x[[0, 2]] = v
    x[[1, 3], [0, 4]] += 1
    return x


@program
def write_with_a_mask(_torch: Any, x: Any, v: Any) -> Any:
    x[x > 0] = 0.5
    x[x < -1] *= 2
    return x * v


@program
def add_at_repeated_places_counts_once(torch: Any, x: Any, v: Any) -> Any:
    x[torch.tensor([1, 1, 2])] += 1
    return x


@program
def write_one_part_with_another(_torch: Any, x: Any, v: Any) -> Any:
    x[0] = x[1].clone() * v
    x[2:] = x[:2]
    return x


@program
def swap_rows(_torch: Any, x: Any, v: Any) -> Any:
    x[[0, 1]] = x[[1, 0]]
    return x


@program
def write_into_zeros(torch: Any, x: Any, v: Any) -> Any:
    out = torch.zeros(4, 5)
    out[1] = v
    out[2:, 1:3] = x[2:, 1:3]
    return out


@program
def write_a_number_tensor(torch: Any, x: Any, v: Any) -> Any:
    x[0] = torch.tensor(3)
    x[1, 1] = torch.tensor([4.0])
    x[2] = v.sum()
    return x


@program
def iterate_and_unpack(_torch: Any, x: Any, v: Any) -> Any:
    first, *rest = x
    return first * v, [row.sum() for row in rest], len(x)


@program
def detached_view_shares_memory(_torch: Any, x: Any, v: Any) -> Any:
    x.detach()[0] = 9.0
    return x * v


@program
def expanded_view_reads_the_change(_torch: Any, x: Any, v: Any) -> Any:
    wide = v.expand(4, 5)
    v.mul_(2)
    return x * wide


@program
def index_put_and_its_accumulation(torch: Any, x: Any, v: Any) -> Any:
    rows = torch.tensor([0, 2, 0])
    x.index_put_((rows,), v, accumulate=True)
    return x
