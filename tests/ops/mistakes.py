"""All the mistakes, by where they are made."""

from __future__ import annotations

from tests.ops import mistakes_in_arguments, mistakes_in_autograd, mistakes_in_shapes, mistakes_in_values

MISTAKES = [
    *mistakes_in_shapes.MISTAKES,
    *mistakes_in_values.MISTAKES,
    *mistakes_in_arguments.MISTAKES,
    *mistakes_in_autograd.MISTAKES,
]
