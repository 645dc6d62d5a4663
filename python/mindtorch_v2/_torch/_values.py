"""PyTorch's own values, where a program that is written for ``torch.profiler`` gives them to ours."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mindtorch_v2.profiler._configs import _ExperimentalConfig


def is_torchs(value: object, name: str) -> bool:
    """Say whether a value is of the class of this name that PyTorch has."""
    kind = type(value)
    return kind.__name__ == name and kind.__module__.partition(".")[0] == "torch"


def experimental_config(config: Any) -> _ExperimentalConfig:
    """Return what PyTorch's settings are here.

    They cannot be read one by one, only pickled. Where each is in that differs between versions, so that it is found
    out with settings of which one is not as usual.
    """
    from mindtorch_v2.profiler._configs import _ExperimentalConfig  # noqa: PLC0415 (it takes time, and few need it)

    kind, state = type(config), config.__getstate__()
    usual = kind().__getstate__()
    settings: dict[str, Any] = {}
    for name, value in vars(_ExperimentalConfig()).items():
        other = {bool: True, list: ["another"], str: "another"}[type(value)]
        try:
            changed = kind(**{name: other}).__getstate__()
        except TypeError:  # an older version, which does not have it
            continue
        settings.update((name, state[at]) for at in range(len(usual)) if changed[at] != usual[at])
    return _ExperimentalConfig(**settings)
