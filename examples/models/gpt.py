"""A transformer that learns to write sentences of a small grammar, byte after byte."""

# The classes to inherit from are those of the library that is given.
# mypy: allow-subclassing-any

from __future__ import annotations

import random
import re
from typing import Any

from models.task import Task

BATCH = 8
LENGTH = 128
VOCABULARY = 256
WIDTH = 128
HEADS = 4
LAYERS = 4

# A word in capitals stands for any of its alternatives.
GRAMMAR = {
    "SENTENCE": ("ONE SEES OBJECT.", "MANY SEE OBJECT."),
    "OBJECT": ("ONE", "MANY"),
    "ONE": ("a NOUN", "the NOUN"),
    "MANY": ("NOUNs", "two NOUNs"),
    "NOUN": ("cat", "dog", "bird", "hen"),
    "SEES": ("sees", "likes"),
    "SEE": ("see", "like"),
}


def model(torch: Any) -> Any:
    """Return a causal transformer, with normalisation before each part, from bytes to the next byte's scores."""
    nn = torch.nn
    module: Any = nn.Module
    attend = nn.functional.scaled_dot_product_attention

    class Attention(module):
        def __init__(self) -> None:
            super().__init__()
            self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
            self.outputs = nn.Linear(WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            heads = self.inputs(x).view(batch, length, 3, HEADS, WIDTH // HEADS)
            query, key, value = heads.permute(2, 0, 3, 1, 4).unbind(0)
            found = attend(query, key, value, is_causal=True)
            return self.outputs(found.transpose(1, 2).reshape(batch, length, WIDTH))

    class Block(module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.Sequential(nn.LayerNorm(WIDTH), Attention())
            self.perceptron = nn.Sequential(
                nn.LayerNorm(WIDTH),
                nn.Linear(WIDTH, 4 * WIDTH),
                nn.GELU(),
                nn.Linear(4 * WIDTH, WIDTH),
            )

        def forward(self, x: Any) -> Any:
            x = x + self.attention(x)
            return x + self.perceptron(x)

    class GPT(module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, WIDTH)
            self.places = nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
            self.norm = nn.LayerNorm(WIDTH)
            self.scores = nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, tokens: Any) -> Any:
            places = torch.arange(tokens.shape[1], device=tokens.device)
            return self.scores(self.norm(self.blocks(self.tokens(tokens) + self.places(places))))

    return GPT()


def batch(torch: Any, number: int) -> tuple[Any, Any]:
    """Return pieces of text as bytes, and the same moved on by one."""
    source = random.Random(number)
    rows = [list(text(source)) for _ in range(BATCH)]
    return torch.tensor([row[:-1] for row in rows]), torch.tensor([row[1:] for row in rows])


def text(source: random.Random) -> bytes:
    """Return a piece of text that is one byte longer than what the model reads."""
    written = ""
    while len(written) <= LENGTH:
        written += expand("SENTENCE ", source)
    return written[: LENGTH + 1].encode()


def expand(words: str, source: random.Random) -> str:
    """Replace words in capitals until there is none."""
    return re.sub("[A-Z]+", lambda name: expand(source.choice(GRAMMAR[name[0]]), source), words)


TASK = Task("gpt", model, batch, rate=0.005, steps=60, goal=1.0)
