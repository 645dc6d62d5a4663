"""What users write into a trace beside its events, as JSON that cannot break the file."""

from __future__ import annotations

from mindtorch_v2 import _core
from mindtorch_v2._torch import with_cuda
from mindtorch_v2.profiler._warnings import warn_user

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class TraceMetadata:
    """What a profiler's traces say beside their events."""

    def __init__(self) -> None:
        self.preset_metadata: dict[str, str] = {}
        self._trace_metadata: dict[str, str] = {}

    def add_metadata(self, key: str, value: str) -> None:
        """Write a text into the traces that are exported from now on, at their top level.

        Metadata belong to this object: they are in the trace of every cycle. A key that the file has itself, such as
        ``traceEvents``, is written with ``_user`` behind it.

        Raises:
            AttributeError: the value is no string.

        >>> from mindtorch_v2.profiler import profile
        >>> with profile() as prof:
        ...     prof.add_metadata("model", "a small one")
        """
        if not isinstance(value, str):
            raise AttributeError(f"the value of metadata {key!r} must be a string, not {value!r}")
        self._trace_metadata[key] = json_string(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Write a value, given as JSON, into the traces that are exported from now on, at their top level.

        A text that is not JSON is written as a string, with a warning. For keys see ``add_metadata``.

        Raises:
            TypeError: the value is no string.

        >>> from mindtorch_v2.profiler import profile
        >>> with profile() as prof:
        ...     prof.add_metadata_json("layers", "[64, 64, 10]")
        """
        self._trace_metadata[key] = self._json(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Do what ``add_metadata_json`` does; PyTorch has this for metadata that are known before the start.

        >>> from mindtorch_v2.profiler import profile
        >>> prof = profile()
        >>> prof.preset_metadata_json("run", "7")
        """
        self.preset_metadata[key] = self._json(key, value)

    @staticmethod
    def _json(key: str, value: str) -> str:
        if not isinstance(value, str):
            raise TypeError(f"the value of metadata {key!r} must be a string that holds JSON, not {value!r}")
        if is_json(value):
            return value
        warn_user(f"the value of metadata {key!r} is not JSON, and is written as a string: {value[:80]!r}")
        return json_string(value)


def is_json(text: str) -> bool:
    """Say whether a text is one JSON value, as the standard has it: without NaN and Infinity."""
    import json  # noqa: PLC0415 (few need it, and the package is to be imported quickly)

    try:
        # Numbers are not made: they could be too long for that.
        json.loads(text, parse_constant=_refuse, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def json_string(value: object) -> str:
    """Return a JSON string that says what a value is."""
    import json  # noqa: PLC0415 (as above)

    return json.dumps(value if isinstance(value, str) else str(value))


def entries(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the keys and JSON texts to write. The engine sees to keys that the file has itself.

    Users can reach the mapping, so that what it holds is checked here again.
    """
    written: list[tuple[str, str]] = []
    for key, value in metadata.items():
        is_text = isinstance(value, str) and is_json(value)
        written.append((encodable(str(key)), _escaped(value) if is_text else json_string(value)))
    return written


def device_properties(name: str) -> str:
    """Return what the accelerators are, as JSON with torch's keys; in a forked child nothing: they are the parent's."""
    import json  # noqa: PLC0415 (as above)

    if name == "cuda":
        return _cuda_properties()

    def properties(index: int) -> dict[str, object]:
        device = _core._npu_device_properties(index)
        return {"id": index, "name": device.name, "totalGlobalMem": device.total_memory}

    try:
        return json.dumps([properties(index) for index in range(_core._npu_device_count())])
    except RuntimeError:
        return ""


def versions(name: str | None) -> dict[str, str]:
    """Return the versions of what the accelerator works with, as keys and JSON texts."""
    torch = with_cuda() if name == "cuda" else None
    if torch is None:
        return {}
    from mindtorch_v2._torch import _cuda  # noqa: PLC0415 (few need it)

    return _cuda.versions(torch)


def _cuda_properties() -> str:
    import json  # noqa: PLC0415 (as above)

    from mindtorch_v2._torch import _cuda  # noqa: PLC0415 (few need it)

    torch = with_cuda()
    try:
        return "" if torch is None else json.dumps(_cuda.properties(torch))
    except RuntimeError:
        return ""


def encodable(text: str) -> str:
    """Return the text without lone surrogates, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escaped(text: str) -> str:
    """Return JSON text as it is if it can be encoded, else with escapes in the place of what cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text
