"""Every operator gives what torch gave for the same inputs, and the same on the CPU and on the accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.ops import outcome
from tests.ops.compare import GRADIENT_TOLERANCES, TOLERANCES, check
from tests.ops.database import CASES, GROUPS
from tests.ops.promotion import TABLES, Table, mistakes
from tests.ops.store import read

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ops.op import Case

torch: Any = mindtorch_v2

# Torch warns of results that are undefined, such as the variance of one number.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return {name: entry for group in GROUPS for name, entry in read(group).items()}


@pytest.fixture(scope="module")
def promotion() -> dict[str, Any]:
    return read("promotion")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results(case: Case, stored: dict[str, Any]) -> None:
    expected = stored[str(case)]["result"]
    for form, result in outcome.results(torch, case).items():
        check(result, expected, TOLERANCES, form)


@pytest.mark.parametrize("case", [case for case in CASES if case.op.view], ids=str)
def test_views(case: Case, stored: dict[str, Any]) -> None:
    for form, layouts in outcome.layouts(torch, case).items():
        assert layouts == stored[str(case)]["layouts"], form


@pytest.mark.parametrize("case", [case for case in CASES if case.inplace], ids=str)
def test_inplace_results(case: Case, stored: dict[str, Any]) -> None:
    entry = stored[str(case)]
    check(outcome.inplace(torch, case), entry.get("inplace", entry["result"]), TOLERANCES, "in place")


@pytest.mark.parametrize("case", [case for case in CASES if case.differentiable], ids=str)
def test_gradients(case: Case, stored: dict[str, Any]) -> None:
    check(outcome.gradients(torch, case), stored[str(case)]["gradients"], GRADIENT_TOLERANCES, "gradient")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_npu_gives_what_the_cpu_gives(case: Case) -> None:
    on_npu, on_cpu = outcome.results(torch, case, "npu"), outcome.results(torch, case)
    for form, result in on_npu.items():
        check(result, on_cpu[form], where=form)
    if case.differentiable:
        check(outcome.gradients(torch, case, "npu"), outcome.gradients(torch, case), where="gradient")
    if case.inplace:
        check(outcome.inplace(torch, case, "npu"), outcome.inplace(torch, case), where="in place")


def test_every_stored_case_is_run(stored: dict[str, Any]) -> None:
    assert set(stored) == {str(case) for case in CASES}


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_dtypes_of_results(table: Table, promotion: dict[str, Any]) -> None:
    assert mistakes(table, table.fill(torch), promotion[str(table)]) == []


@pytest.mark.parametrize("case", [case for case in CASES if not case.op.differentiable], ids=str)
def test_results_without_gradients(case: Case) -> None:
    assert not any(outcome.requires_grad(torch, case))


MANY = 10_000
DEVICES = ["cpu", "npu"]


@pytest.mark.parametrize("device", DEVICES)
def test_rand(device: str) -> None:
    values = torch.rand(MANY, device=device).tolist()
    assert all(0 <= value < 1 for value in values)
    assert sum(values) / MANY == pytest.approx(0.5, abs=0.02)
    assert sum(value < 0.25 for value in values) / MANY == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("device", DEVICES)
def test_randn(device: str) -> None:
    values = torch.randn(MANY, device=device).tolist()
    assert sum(values) / MANY == pytest.approx(0, abs=0.06)
    assert sum(value**2 for value in values) / MANY == pytest.approx(1, abs=0.1)
    assert sum(abs(value) > 2 for value in values) / MANY == pytest.approx(0.0455, abs=0.015)


@pytest.mark.parametrize("device", DEVICES)
def test_randint_and_randperm(device: str) -> None:
    drawn = torch.randint(-2, 3, (200,), device=device)
    assert drawn.dtype == torch.int64
    assert set(drawn.tolist()) == {-2, -1, 0, 1, 2}
    assert set(torch.randint(3, (100,), dtype=torch.uint8, device=device).tolist()) == {0, 1, 2}
    order = torch.randperm(50, device=device)
    assert order.dtype == torch.int64
    assert sorted(order.tolist()) == list(range(50)) != order.tolist()
    assert torch.randperm(0).shape == (0,)


CREATED: dict[str, Callable[..., Any]] = {
    "rand": lambda **options: torch.rand(2, 3, **options),
    "randn": lambda **options: torch.randn((2, 3), **options),
    "empty": lambda **options: torch.empty(2, 3, **options),
    "rand_like": lambda **options: torch.rand_like(torch.zeros(2, 3), **options),
    "randn_like": lambda **options: torch.randn_like(torch.zeros(2, 3), **options),
    "empty_like": lambda **options: torch.empty_like(torch.zeros(2, 3), **options),
    "randint_like": lambda **options: torch.randint_like(torch.zeros(2, 3), 5, **options),
}


@pytest.mark.parametrize("name", CREATED)
def test_shapes_and_dtypes_of_what_is_created(name: str) -> None:
    create = CREATED[name]
    assert (create().shape, create().dtype, create().requires_grad) == ((2, 3), torch.float32, False)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        assert create(dtype=dtype).dtype == dtype
    assert create(requires_grad=True).requires_grad
    assert create(device="npu").device.type == "npu"


def test_a_seed_gives_the_same_numbers_again() -> None:
    def draw(**options: Any) -> list[Any]:
        return [torch.rand(5, **options).tolist(), torch.randn(5, **options).tolist(), torch.randperm(9).tolist()]

    torch.manual_seed(3)
    first = draw()
    assert draw() != first
    torch.manual_seed(3)
    assert draw() == first
    generator = torch.Generator()
    assert draw(generator=generator.manual_seed(3))[:2] == draw(generator=generator.manual_seed(3))[:2]


def test_dropout() -> None:
    dropout = torch.nn.functional.dropout
    ones = torch.ones(MANY, requires_grad=True)
    kept = dropout(ones, 0.25)
    assert sorted(set(kept.tolist())) == [0.0, pytest.approx(4 / 3)]
    assert kept.mean().item() == pytest.approx(1, abs=0.05)
    kept.sum().backward()
    assert ones.grad.tolist() == kept.tolist()
    assert dropout(ones, 0.25, training=False).tolist() == ones.tolist() == dropout(ones, 0.0).tolist()
    assert not any(dropout(ones, 1.0).tolist())
