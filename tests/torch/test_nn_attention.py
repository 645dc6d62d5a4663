"""Attention and the transformer encoder do what those of torch do, with the same weights and masks."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from tests.torch.nn_compare import check_parameters, check_same, numbers, ours, pair, to_ours

ATTENTION: dict[str, dict[str, Any]] = {
    "plain": {},
    "without bias": {"bias": False},
    "batch first": {"batch_first": True},
    "other widths": {"kdim": 5, "vdim": 3},
    "other widths without bias": {"kdim": 5, "bias": False},
    "bias of keys and values": {"add_bias_kv": True},
    "zeros": {"add_zero_attn": True},
    "both": {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
}
CAUSAL = torch.ones(4, 4).triu(1).bool()
CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without weights": {"need_weights": False},
    "each head's weights": {"average_attn_weights": False},
    "mask": {"attn_mask": CAUSAL},
    "mask without weights": {"attn_mask": CAUSAL, "need_weights": False},
    "causal": {"attn_mask": CAUSAL, "need_weights": False, "is_causal": True},
    "causal with weights": {"attn_mask": CAUSAL, "is_causal": True},
    "mask of numbers": {"attn_mask": numbers(4, 4)},
    "mask of heads": {"attn_mask": numbers(6, 4, 4)},
    "mask of heads without weights": {"attn_mask": numbers(6, 4, 4), "need_weights": False},
    "padding": {"key_padding_mask": torch.tensor([[False] * 3 + [True]] * 3)},
    "padding without weights": {"key_padding_mask": torch.tensor([[False] * 3 + [True]] * 3), "need_weights": False},
    "both": {"attn_mask": CAUSAL, "key_padding_mask": torch.tensor([[False] * 3 + [True]] * 3)},
}
# Where keys are added and a mask is said to be causal, torch masks these keys too, which the mask does not.
CASES = [
    (options, call)
    for options, call in itertools.product(ATTENTION, CALLS)
    if call != "causal" or options not in ("bias of keys and values", "zeros", "both")
]


def call_attention(module: Any, lib: Any, args: list[Any], call: dict[str, Any]) -> Any:
    masks = {k: to_ours(v) if lib is ours and isinstance(v, torch.Tensor) else v for k, v in call.items()}
    return module(*args, **masks)


@pytest.mark.parametrize(("options", "call"), CASES)
def test_attention(options: str, call: str) -> None:
    made = ATTENTION[options]
    mine, theirs = pair(lambda nn: nn.MultiheadAttention(8, 2, **made), True)
    assert repr(mine) == repr(theirs)
    shapes = [(4, 3, width) for width in (8, made.get("kdim", 8), made.get("vdim", 8))]
    if made.get("batch_first"):
        shapes = [(3, 4, width) for _, _, width in shapes]
    inputs = [numbers(*shape, seed=seed) for seed, shape in enumerate(shapes)]

    def attend(lib: Any, args: list[Any]) -> Any:
        return call_attention(mine if lib is ours else theirs, lib, args, CALLS[call])

    check_same(attend, inputs)
    check_parameters(mine, theirs)
    if "kdim" not in made:
        # The same tensor thrice is projected at once.
        check_same(lambda lib, args: attend(lib, args * 3), inputs[:1])


def test_attention_without_batches() -> None:
    mine, theirs = pair(lambda nn: nn.MultiheadAttention(8, 2, batch_first=True), False)
    masks = {"key_padding_mask": torch.tensor([False, True, False]), "attn_mask": CAUSAL[:, :3]}

    def attend(lib: Any, args: list[Any]) -> Any:
        return call_attention(mine if lib is ours else theirs, lib, [args[0], args[1], args[1]], masks)

    check_same(attend, [numbers(4, 8), numbers(3, 8, seed=1)])


ENCODER: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch first": {"batch_first": True},
    "norm first": {"norm_first": True, "activation": "gelu"},
    "without bias": {"bias": False, "activation": torch.tanh, "layer_norm_eps": 1e-3},
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("mask", ["nothing", "causal", "causal said", "padding", "both"])
@pytest.mark.parametrize("options", ENCODER)
def test_transformer_encoder(options: str, mask: str) -> None:
    made = {"dropout": 0.0, "dim_feedforward": 16, **ENCODER[options]}

    def build(nn: Any) -> Any:
        own = dict(made)
        if nn is ours.nn and own.get("activation") is torch.tanh:
            own["activation"] = ours.tanh
        layer = nn.TransformerEncoderLayer(8, 2, **own)
        return nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8))

    mine, theirs = pair(build, True)
    assert repr(mine) == repr(theirs)
    given: dict[str, Any] = {}
    if mask.startswith(("causal", "both")):
        given["mask"] = CAUSAL
    if mask == "causal said":
        given["is_causal"] = True
    if mask in ("padding", "both"):
        given["src_key_padding_mask"] = torch.tensor([[False] * 3 + [True]] * 3)
    shape = (3, 4, 8) if made.get("batch_first") else (4, 3, 8)

    def encode(lib: Any, args: list[Any]) -> Any:
        return call_attention(mine if lib is ours else theirs, lib, args, given)

    check_same(encode, [numbers(*shape)], 1e-4)
    check_parameters(mine, theirs, 1e-4)
