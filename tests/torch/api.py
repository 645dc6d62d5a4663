"""Walks the names of two modules side by side and says what the second lacks or changes."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EMPTY = inspect.Parameter.empty
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# What a class may have besides its public names, and users call all the same.
PROTOCOL = ("__enter__", "__exit__", "__call__", "__iadd__", "__missing__", "__getitem__")
# Where the profiler's own classes and functions are.
PACKAGES = ("torch.profiler", "torch.autograd", "torch._C")
# Types whose values are equal in both libraries when they are the same.
PLAIN = (type(None), bool, int, float, str, bytes, list, tuple, dict, set)


@dataclass(frozen=True)
class Problem:
    """A public name that ours lacks or changes."""

    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


class Walk:
    """Compares module by module. What torch has under several names is looked at once, under the first of them."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[str, Any]] = {}

    def modules(self, name: str, theirs: Any, ours: Any, names: Iterable[str]) -> Iterator[Problem]:
        for each in names:
            if not hasattr(ours, each):
                yield Problem(f"{name}.{each}", "ours has no such name")
                continue
            one, other = getattr(theirs, each), getattr(ours, each)
            if not callable(one):
                yield from compare(f"{name}.{each}", one, other)
                continue
            if not getattr(one, "__module__", "").startswith(PACKAGES):
                # Only the name is torch.profiler's: the optimizer is looked at by the tests of optimizers.
                continue
            first, known = self.seen.setdefault(id(one), (f"{name}.{each}", other))
            if first == f"{name}.{each}":
                yield from compare(first, one, other)
            elif known is not other:
                yield Problem(f"{name}.{each}", f"is not {first} in ours")


def compare(name: str, theirs: Any, ours: Any) -> Iterator[Problem]:
    if members(theirs) is not None:
        yield from compare_members(name, theirs, ours)
    elif isinstance(theirs, type):
        yield from compare_classes(name, theirs, ours)
    elif callable(theirs):
        yield from compare_signatures(name, theirs, ours)
    elif inspect.ismodule(theirs) != inspect.ismodule(ours) or (isinstance(theirs, PLAIN) and theirs != ours):
        yield Problem(name, f"torch's is {theirs!r}, ours {ours!r}")


def members(value: Any) -> dict[str, Any] | None:
    found = getattr(value, "__members__", None)
    return dict(found) if isinstance(value, type) and found is not None else None


def compare_members(name: str, theirs: Any, ours: Any) -> Iterator[Problem]:
    """Each member of torch's enumeration, with its value. Ours may have more."""
    mine = members(ours) or {}
    for member, value in (members(theirs) or {}).items():
        if member not in mine:
            yield Problem(f"{name}.{member}", "ours has no such member")
            continue
        if mine[member].value != value.value or mine[member].name != value.name:
            yield Problem(f"{name}.{member}", f"torch's is {value.name}={value.value}, ours {mine[member]!r}")
        if ours(value.value) != mine[member]:
            yield Problem(f"{name}.{member}", f"ours({value.value}) is {ours(value.value)!r}")


def compare_classes(name: str, theirs: type, ours: Any) -> Iterator[Problem]:
    if not isinstance(ours, type):
        yield Problem(name, f"ours is no class: {ours!r}")
        return
    yield from compare_signatures(name, theirs, ours)
    for base in theirs.__mro__[1:-1]:
        if base.__module__ in {"builtins", "collections"} and not issubclass(ours, base):
            yield Problem(name, f"ours is no {base.__name__}")
    inherited = {each for base in (object, list, tuple, dict) for each in dir(base)}
    for member in dir(theirs):
        is_public = not member.startswith("_") or (member in PROTOCOL and member in own_names(theirs))
        if not is_public or member in inherited - own_names(theirs):
            continue
        if not hasattr(ours, member):
            if inspect.isdatadescriptor(getattr(theirs, member)) and member in attributes_of(ours):
                continue
            yield Problem(f"{name}.{member}", "ours has no such member")
            continue
        one, other = getattr(theirs, member), getattr(ours, member)
        if callable(one) and not isinstance(one, type):
            yield from compare_signatures(f"{name}.{member}", one, other)
        elif isinstance(one, PLAIN) and one != other:
            yield Problem(f"{name}.{member}", f"torch's is {one!r}, ours {other!r}")


def attributes_of(value: type) -> set[str]:
    """The attributes that an object of a class has once it is made, if it can be made of nothing."""
    try:
        return set(dir(value()))
    except TypeError:
        return set()


def own_names(value: type) -> set[str]:
    """The names that a class or its bases outside the standard library define."""
    standard = {"builtins", "collections", "contextlib", "abc"}
    return {each for base in value.__mro__ if base.__module__ not in standard for each in vars(base)}


def compare_signatures(name: str, theirs: Any, ours: Any) -> Iterator[Problem]:
    """Torch's parameters, in order, with their kinds and defaults. Ours may have more that have defaults."""
    one = parameters(theirs)
    if one is None:
        return
    one = [parameter for parameter in one if parameter.kind not in VARIADIC]
    if not callable(ours):
        yield Problem(name, "ours is not callable")
        return
    other = parameters(ours)
    if other is None:
        yield Problem(name, "ours has no signature")
        return
    for parameter in one:
        found = next((each for each in other if each.name == parameter.name), None)
        if found is None:
            yield Problem(name, f"ours has no parameter {parameter}")
        elif found.kind != parameter.kind:
            yield Problem(name, f"{parameter.name} is {parameter.kind.description}, in ours {found.kind.description}")
        elif shown(found.default) != shown(parameter.default):
            yield Problem(name, f"{parameter.name} is {shown(parameter.default)}, in ours {shown(found.default)}")
    known = [each.name for each in one]
    if [each.name for each in other if each.name in known] != known and len(known) == len({*known}):
        yield Problem(name, "the parameters are in another order")
    for extra in other:
        if extra.name not in known and extra.default is EMPTY and extra.kind not in VARIADIC:
            yield Problem(name, f"ours needs {extra.name}")


def parameters(function: Any) -> list[inspect.Parameter] | None:
    """As `inspect` sees them, or as a binding's docstring says; None if neither knows."""
    documented = re.search(r"__init__\(self: [\w.]+(?:, (.*))?\) -> None", function.__init__.__doc__ or "")
    if documented:
        source = re.sub(r": [^=,]+(?:\[[^\]]*\])?(?= = )", "", documented[1] or "")
        namespace: dict[str, Any] = {}
        exec(f"def documented({source}): ...", namespace)
        return list(inspect.signature(namespace["documented"]).parameters.values())
    try:
        found = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    return [each for each in found.parameters.values() if each.name not in {"self", "cls"}]


def shown(default: Any) -> str:
    """A default without what differs between two libraries: an address, a module."""
    if default is EMPTY:
        return "needed"
    if isinstance(getattr(default, "name", None), str):
        return str(default.name)
    if inspect.isfunction(default) or isinstance(default, type):
        return default.__name__
    return "callable" if callable(default) else repr(default)


def compare_objects(name: str, theirs: Any, ours: Any, private: Iterable[str] = ()) -> Iterator[Problem]:
    """The attributes of an object as it is made, and the values of those that are plain."""
    for attribute, value in vars(theirs).items():
        if attribute.startswith("_") and attribute not in private:
            continue
        try:
            found = getattr(ours, attribute)
        except AttributeError:
            yield Problem(f"{name}.{attribute}", "an object of ours has no such attribute")
            continue
        if is_plain(value) and found != value:
            yield Problem(f"{name}.{attribute}", f"is {value!r} in torch's object, {found!r} in ours")


def is_plain(value: Any) -> bool:
    """Whether it can be equal to another library's: it holds no object of the library's own."""
    if isinstance(value, dict):
        return all(is_plain(each) for pair in value.items() for each in pair)
    if isinstance(value, (list, tuple, set)):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)
