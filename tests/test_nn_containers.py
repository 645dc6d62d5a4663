"""Modules that hold modules or parameters."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def names(pairs: Any) -> list[str]:
    return [name for name, _ in pairs]


def test_sequential() -> None:
    layers = [nn.ReLU(), nn.ELU(), nn.SELU()]
    net = nn.Sequential(*layers)
    assert (len(net), net[-1], list(net)) == (3, layers[2], layers)
    assert list(net[1:]) == layers[1:]
    assert names(net[1:].named_children()) == ["1", "2"]
    del net[0]
    assert names(net.named_children()) == ["0", "1"]
    net.insert(0, layers[0]).append(nn.Tanh()).extend([nn.GELU()])
    assert [type(layer).__name__ for layer in net] == ["ReLU", "ELU", "SELU", "Tanh", "GELU"]
    assert net.pop(-1) is not None
    assert len(net * 2 + nn.Sequential(nn.ReLU())) == 9
    with pytest.raises(IndexError, match="index 4 is out of range"):
        _ = net[4]
    named = nn.Sequential(OrderedDict(a=nn.Linear(1, 2), b=nn.Linear(2, 3)))
    assert list(named.state_dict()) == ["a.weight", "a.bias", "b.weight", "b.bias"]
    assert named(torch.ones(1)).shape == (3,)


def test_lists_and_dictionaries() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    layers += [nn.ReLU()]
    layers.insert(1, nn.Tanh())
    assert repr(layers[1:3]) == "ModuleList(\n  (0): Tanh()\n  (1): Linear(in_features=1, out_features=1, bias=True)\n)"
    assert repr(nn.ModuleList(nn.ReLU() for _ in range(3))) == "ModuleList(\n  (0-2): 3 x ReLU()\n)"
    assert list(layers.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    by_name = nn.ModuleDict({"a": nn.ReLU()})
    by_name.update([("b", nn.Linear(1, 1))])
    by_name["c"] = nn.Tanh()
    assert list(by_name) == ["a", "b", "c"]
    assert "b" in by_name
    assert by_name.pop("a") is not None
    assert list(by_name.keys()) == ["b", "c"]
    with pytest.raises(TypeError, match=r"ModuleList\.extend should be called with an iterable, but got int"):
        layers.extend(1)  # type: ignore[arg-type]


def test_lists_and_dictionaries_of_parameters() -> None:
    listed = nn.ParameterList([torch.ones(2), torch.zeros(2, 3)])
    listed.append(nn.Parameter(torch.ones(1)))
    assert names(listed.named_parameters()) == ["0", "1", "2"]
    assert [tuple(param.shape) for param in listed[1:]] == [(2, 3), (1,)]
    assert repr(listed[:1]) == "ParameterList(  (0): Parameter containing: [torch.float32 of size 2])"
    by_name = nn.ParameterDict({"b": torch.ones(1), "a": torch.ones(2)})
    by_name["c"] = torch.ones(3)
    assert list(by_name) == ["a", "b", "c"]
    assert by_name.pop("b").numel() == 1
    assert names(by_name.named_parameters()) == ["a", "c"]
    assert list(by_name | nn.ParameterDict({"d": torch.ones(1)})) == ["a", "c", "d"]
    with pytest.raises(RuntimeError, match="ParameterList should not be called"):
        listed()
