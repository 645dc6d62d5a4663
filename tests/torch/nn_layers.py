"""Layers to compare, and what goes into them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from tests.torch.nn_compare import integers, numbers, ours

IMAGE, SEQUENCE, ROWS = numbers(2, 4, 6, 7), numbers(2, 4, 9), numbers(5, 6)
LAYERS: dict[str, tuple[Any, list[torch.Tensor]]] = {
    "Identity": (lambda nn: nn.Identity(3, unused=True), [ROWS]),
    "Linear": (lambda nn: nn.Linear(6, 3), [ROWS]),
    "Linear without bias": (lambda nn: nn.Linear(6, 3, bias=False), [numbers(2, 3, 6)]),
    "Linear of a vector": (lambda nn: nn.Linear(6, 3), [numbers(6)]),
    "Linear of float64": (lambda nn: nn.Linear(6, 3, dtype=DTYPE[nn]), [ROWS.double()]),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3), [SEQUENCE]),
    "Conv1d with everything": (lambda nn: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False), [SEQUENCE]),
    "Conv1d circular": (lambda nn: nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular"), [SEQUENCE]),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, 3), [IMAGE]),
    "Conv2d without batch": (lambda nn: nn.Conv2d(4, 6, (2, 3), stride=(2, 1)), [numbers(4, 6, 7)]),
    "Conv2d with everything": (lambda nn: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 2), (1, 2), 2, False), [IMAGE]),
    "Conv2d depthwise": (lambda nn: nn.Conv2d(4, 4, 3, padding=1, groups=4), [IMAGE]),
    "Conv2d same": (lambda nn: nn.Conv2d(4, 6, 3, padding="same", dilation=2), [IMAGE]),
    "Conv2d valid": (lambda nn: nn.Conv2d(4, 6, 3, padding="valid"), [IMAGE]),
    "Conv2d reflect": (lambda nn: nn.Conv2d(4, 6, 3, padding=(1, 2), padding_mode="reflect"), [IMAGE]),
    "Conv2d same replicate": (lambda nn: nn.Conv2d(4, 6, (2, 3), padding="same", padding_mode="replicate"), [IMAGE]),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(6), [ROWS]),
    "BatchNorm1d of sequences": (lambda nn: nn.BatchNorm1d(4, eps=1e-3, momentum=0.3), [SEQUENCE]),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(4), [IMAGE]),
    "BatchNorm2d without bias": (lambda nn: nn.BatchNorm2d(4, bias=False), [IMAGE]),
    "BatchNorm2d of means": (lambda nn: nn.BatchNorm2d(4, momentum=None), [IMAGE]),
    "BatchNorm2d alone": (lambda nn: nn.BatchNorm2d(4, affine=False, track_running_stats=False), [IMAGE]),
    "LayerNorm": (lambda nn: nn.LayerNorm(6), [ROWS]),
    "LayerNorm of two": (lambda nn: nn.LayerNorm((6, 7), eps=1e-3), [IMAGE]),
    "LayerNorm without bias": (lambda nn: nn.LayerNorm(6, bias=False), [ROWS]),
    "LayerNorm alone": (lambda nn: nn.LayerNorm([6], elementwise_affine=False), [ROWS]),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), [IMAGE]),
    "GroupNorm without bias": (lambda nn: nn.GroupNorm(4, 4, bias=False), [SEQUENCE]),
    "GroupNorm alone": (lambda nn: nn.GroupNorm(1, 4, affine=False), [SEQUENCE]),
    "RMSNorm": (lambda nn: nn.RMSNorm(6), [ROWS]),
    "RMSNorm with eps": (lambda nn: nn.RMSNorm((6, 7), eps=1e-3), [IMAGE]),
    "RMSNorm alone": (lambda nn: nn.RMSNorm(6, elementwise_affine=False), [ROWS]),
    "Embedding": (lambda nn: nn.Embedding(10, 3), [integers(10, 2, 5)]),
    "Embedding with padding": (lambda nn: nn.Embedding(10, 3, padding_idx=-3), [integers(10, 2, 5)]),
    "Embedding of limited norm": (lambda nn: nn.Embedding(10, 3, max_norm=1.0, norm_type=1.0), [integers(8, 2, 5)]),
    "Embedding by frequency": (lambda nn: nn.Embedding(5, 3, scale_grad_by_freq=True), [integers(5, 2, 9)]),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), [IMAGE]),
    "MaxPool2d with everything": (lambda nn: nn.MaxPool2d((3, 2), (2, 1), 1, 2, ceil_mode=True), [IMAGE]),
    "MaxPool2d with places": (lambda nn: nn.MaxPool2d(3, 2, 1, return_indices=True), [IMAGE]),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2), [IMAGE]),
    "AvgPool2d with everything": (lambda nn: nn.AvgPool2d((3, 2), 2, 1, True, False), [IMAGE]),
    "AvgPool2d with a divisor": (lambda nn: nn.AvgPool2d(3, divisor_override=5), [IMAGE]),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d(3), [IMAGE]),
    "AdaptiveAvgPool2d of one size": (lambda nn: nn.AdaptiveAvgPool2d((None, 2)), [IMAGE]),
    "Flatten": (lambda nn: nn.Flatten(), [IMAGE]),
    "Flatten of some": (lambda nn: nn.Flatten(0, -2), [IMAGE]),
    "Unflatten": (lambda nn: nn.Unflatten(-1, (2, -1)), [ROWS]),
    "ZeroPad2d": (lambda nn: nn.ZeroPad2d((1, 2, 0, 1)), [IMAGE]),
    "Sequential": (lambda nn: nn.Sequential(nn.Linear(6, 4), nn.GELU(), nn.Dropout(0.0), nn.Linear(4, 1)), [ROWS]),
    "Sequential by name": (lambda nn: nn.Sequential(OrderedDict(first=nn.Linear(6, 4), then=nn.Tanh())), [ROWS]),
}
DTYPE = {torch.nn: torch.float64, ours.nn: ours.float64}


BENDS = [-1000, -100, -20.5, -6, -3, -1, -0.5, -1e-6, 0, 1e-6, 0.5, 1, 3, 6, 20.5, 100, 1000]
POINTS = torch.tensor([*BENDS, *numbers(19).tolist()]).reshape(2, 3, 6)
ACTIVATIONS = {
    **{name: (name, {}) for name in ("ReLU", "ReLU6", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Sigmoid", "Tanh")},
    **{
        name: (name, {}) for name in ("Softplus", "Hardtanh", "Hardswish", "Hardsigmoid", "Mish", "PReLU", "LogSigmoid")
    },
    **{name: (name, {}) for name in ("Softsign", "Tanhshrink")},
    **{f"{name} in place": (name, {"inplace": True}) for name in ("ReLU", "ReLU6", "ELU", "SELU", "SiLU", "Mish")},
    **{f"{name} in place": (name, {"inplace": True}) for name in ("Hardtanh", "Hardswish", "Hardsigmoid", "LeakyReLU")},
    "LeakyReLU steep": ("LeakyReLU", {"negative_slope": 0.3}),
    "ELU small": ("ELU", {"alpha": 0.7}),
    "GELU tanh": ("GELU", {"approximate": "tanh"}),
    "Softplus sharp": ("Softplus", {"beta": 2.0, "threshold": 5.0}),
    "Hardtanh wide": ("Hardtanh", {"min_val": -3.0, "max_val": 6.0}),
    "PReLU by channel": ("PReLU", {"num_parameters": 3, "init": 0.1}),
    "Softmax": ("Softmax", {"dim": -1}),
    "LogSoftmax": ("LogSoftmax", {"dim": 1}),
}
