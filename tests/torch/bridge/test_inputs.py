"""Inputs that were given before are known by a hash: what is shown of them is what they are."""

from __future__ import annotations

import itertools
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import torch
from tests.profiler.support import spans, trace_of
from tests.torch.bridge.both import facts, ours_on_cpu, recorded_together

from mindtorch_v2._torch import _build
from mindtorch_v2.profiler import record_function

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Of as many kinds as an operator can be given, and those that are alike one after the other.
SIZES = [0, 1, 2, 3, 4, 8, 16, 1024]


def kinds() -> None:
    values = torch.ones(2, 3)
    for other in values, values.double(), values.t(), values[:, :2], values[0], values[0, 0], values.to_sparse():
        other.clone()
    for sizes in (6,), (3, 2), (2, 3), (1, 6), (-1,):
        values.view(sizes)
    for number in 1, -1, 2, 2.0, 0.5, True, 1 << 40:
        values.mul(number)
        torch.full((2,), number)
    for tensors in [values], [values, values], [values, values[:1]]:
        torch.cat(tensors)
    for dimensions in [], [0], [1], [0, 1]:
        values.sum(dimensions)
    values.clamp(min=0.5)
    values.clamp(max=0.5)
    values.clamp(0.0, 0.5)
    torch.nn.functional.layer_norm(values, [3])
    torch.nn.functional.layer_norm(values, [3], torch.ones(3))
    torch.nested.nested_tensor([values[0], values[1, :2]]).clone()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_all_kinds_again_and_again() -> None:
    kinds()
    both = recorded_together(lambda: [kinds() for _ in range(3)])
    ours, theirs = facts(both.ours), facts(both.theirs)
    assert ours == theirs


def test_what_is_alike_is_told_apart(tmp_path: Path) -> None:
    """Tensors without memory, of any sizes and strides."""
    shapes = [shape for length in range(4) for shape in itertools.product(SIZES, repeat=length)]
    layouts = [(shape, stride) for shape in shapes for stride in (shape, shape[::-1], (1,) * len(shape))]
    types = [torch.float32, torch.int64]
    tensors = [torch.empty_strided(*layout, dtype=dtype, device="meta") for layout in layouts for dtype in types]
    with ours_on_cpu(record_shapes=True) as prof:
        for tensor in tensors:
            # What comes second is known.
            tensor.detach()
            tensor.detach()
    told = [span["args"] for span in spans(trace_of(prof, tmp_path), "cpu_op") if span["name"] == "aten::detach"]
    assert len(told) == 2 * len(tensors) > 5000
    for args, tensor in zip(told, (tensor for tensor in tensors for _ in range(2)), strict=True):
        assert args["Input Dims"] == [list(tensor.shape)]
        assert args["Input Strides"] == [list(tensor.stride())]
        assert args["Input type"] == ["float" if tensor.dtype == torch.float32 else "long int"]


def test_an_operator_counts_its_own_work() -> None:
    values = torch.ones(4, 4)
    with ours_on_cpu(with_flops=True) as prof:
        for _ in range(3):
            values + values
            values @ values
            values * values
    flops = [event.flops for event in prof.events() if event.name in {"aten::add", "aten::mm", "aten::mul"}]
    assert flops == [16, 128, 16] * 3


class Secretive(torch.Tensor):
    """A tensor that does not tell its sizes to who looks at it from C++."""

    @classmethod
    def make(cls) -> Secretive:
        secretive: Secretive = torch.Tensor._make_wrapper_subclass(cls, (2, 3), dispatch_sizes_strides_policy="sizes")
        return secretive

    @classmethod
    def __torch_dispatch__(
        cls, function: Callable[..., object], types: object, args: tuple[object, ...] = (), kwargs: object = None
    ) -> object:
        if function is torch.ops.aten.neg.default:
            return args[0]
        raise RuntimeError(f"{function} is nobody's business")


def test_an_input_that_cannot_be_looked_at() -> None:
    """Its operator is not recorded, and those around it are as ever."""
    secret, values = Secretive.make(), torch.ones(3)
    with ours_on_cpu(record_shapes=True) as prof:
        for _ in range(2):
            with record_function("around"):
                values.exp()
                torch.neg(secret)
                values.log()
    nested = [(event.name, event.cpu_parent and event.cpu_parent.name) for event in prof.events()]
    assert nested == [("around", None), ("aten::exp", "around"), ("aten::log", "around")] * 2


# What the shim's hash needs of PyTorch, and a program that prints hashes of what is alike, a line each: first of inputs
# that differ in their sizes, then in their kinds and types, then of names that differ in one byte or in their length.
HASHES = """
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>
#define C10_UNLIKELY(expression) (expression)
namespace c10 { using IntArrayRef = std::vector<int64_t>; struct FunctionSchema; }
namespace at { struct IValue {}; }
using Words = std::vector<uint64_t>;
uint64_t tag_of(const at::IValue&);
uint64_t bits_of(const at::IValue&);
%s
void print(const Hash& hash) {
  std::printf("%%llu %%llu\\n", (unsigned long long)hash.one(), (unsigned long long)hash.other());
}

int main() {
  const int64_t sizes[] = {0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 768, 1024, -1};
  std::vector<c10::IntArrayRef> all = {{}};
  for (size_t from = 0, length = 0; length < 4; ++length) {
    const size_t to = all.size();
    for (; from < to; ++from) {
      for (const int64_t size : sizes) {
        all.push_back(all[from]);
        all.back().push_back(size);
      }
    }
  }
  for (const auto& shape : all) {
    Hash hash("aten::add");
    hash.push_tensor(shape.size() << 16, shape, c10::IntArrayRef(shape.rbegin(), shape.rend()));
    hash.push(4, 1);
    print(hash);
  }
  for (uint64_t kind = 0; kind < 2; ++kind) {
    for (uint64_t type = 1; type < 64; ++type) {
      Hash hash("aten::add");
      hash.push_tensor(kind | type << 8 | 2 << 16, {8, 16}, {16, 1});
      print(hash);
    }
  }
  for (size_t length = 0; length < 70; ++length) {
    std::string name(length, 'a');
    print(Hash(name));
    for (char& byte : name) {
      for (const char other : {'\\0', 'A', 'b', '\\xff'}) {
        byte = other;
        print(Hash(name));
      }
      byte = 'a';
    }
  }
}
"""


def test_hashes_are_spread(tmp_path: Path) -> None:
    """Either half tells operations apart, and the places by which they are found are used alike."""
    source = _build._SOURCE.with_name("hash.h").read_text(encoding="utf-8")
    the_class = source[source.index("class Hash {") :].split("\n};\n", 1)[0] + "\n};\n"
    file, program = tmp_path / "hashes.cpp", tmp_path / "hashes"
    file.write_text(HASHES % the_class)
    subprocess.run([*_build._compiler(), "-std=c++20", "-O1", str(file), "-o", str(program)], check=True)
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    hashes = [tuple(map(int, line.split())) for line in output.splitlines()]
    assert len(hashes) == sum(14**length for length in range(5)) + 2 * 63 + sum(1 + 4 * length for length in range(70))
    for half in range(2):
        assert len({each[half] for each in hashes}) == len(hashes)
    # Of so many balls a box has 50 on average.
    places = Counter(one // 2 % 1024 for one, _ in hashes)
    assert len(places) == 1024
    assert all(15 < count < 100 for count in places.values())
