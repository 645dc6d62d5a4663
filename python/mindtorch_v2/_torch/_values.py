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

    They cannot be read one by one. What they are pickled as has them in the order of the constructor's arguments.
    """
    import re  # noqa: PLC0415 (it takes time, and few need it)

    from mindtorch_v2.profiler._configs import _ExperimentalConfig  # noqa: PLC0415

    signature = (type(config).__init__.__doc__ or "").partition("\n")[0]
    names = re.findall(r"(\w+): [^=]*? = ", signature)
    known = vars(_ExperimentalConfig())
    settings = zip(names, config.__getstate__(), strict=False)
    return _ExperimentalConfig(**{name: value for name, value in settings if name in known})
