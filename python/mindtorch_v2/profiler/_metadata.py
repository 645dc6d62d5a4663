"""What users write into a trace beside its events, as JSON that cannot break the file."""

from __future__ import annotations

# Not imported from typing, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What the file has at its top level already.
_OWN_KEYS = {
    *("schemaVersion", "deviceProperties", "trace_id", "host_name", "displayTimeUnit", "baseTimeNanoseconds"),
    *("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"),
    *("cudaGraphInlineAnnotated", "traceEvents", "traceName"),
}


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


def entries(*parts: Mapping[str, str], options: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return the keys and JSON texts to write, each key once and none that the file has itself.

    A later part's value wins. Users can reach these mappings, so that what they hold is checked here again.
    """
    merged = {str(key): value for part in parts for key, value in part.items()}
    written: dict[str, str] = dict.fromkeys(options, "1")
    for key, value in merged.items():
        name = _encodable(key)
        while name in _OWN_KEYS or (name != key and (name in merged or name in written)):
            name = "user." + name
        is_text = isinstance(value, str) and is_json(value)
        written[name] = _escaped(value) if is_text else json_string(value)
    return list(written.items())


def _encodable(text: str) -> str:
    """Return the text without lone surrogates, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escaped(text: str) -> str:
    """Return JSON text as it is if it can be encoded, else with escapes in the place of what cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text
