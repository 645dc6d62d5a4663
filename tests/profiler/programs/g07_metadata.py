"""Metadata of every kind, and the flags of the options."""

from __future__ import annotations

import json
import warnings
from typing import Any


def run(torch: Any) -> Any:
    a = torch.ones(4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        prof = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            record_shapes=True,
            profile_memory=True,
            with_stack=False,
            with_flops=True,
            with_modules=True,
        )
        prof.preset_metadata_json("preset_key", json.dumps({"a": [1, 2]}))
        with prof:
            torch.matmul(a, a)
            prof.add_metadata("str_key", "hello world")
            prof.add_metadata_json("json_key", '[1, 2, {"x": null}]')
    prof.add_metadata("after_stop", "late")
    return prof
