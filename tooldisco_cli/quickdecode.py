"""Decodes JSON text into frozen dataclasses where nothing about it is in doubt, without pydantic.

Importing pydantic and having it compile a schema takes longer than a whole search. So what plainly has the declared
types is taken here, and everything else is left to pydantic, which decides and explains: this module only ever says
"beyond doubt, it is this value" or nothing at all. A test holds the two against each other.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")
Convert = Callable[[Any], Any]

_DEEPEST = 150
"""Brackets in a text from which its nesting could be too deep for pydantic."""


class _Doubt(Exception):
    """Something here may be wrong."""


def quickly_decoded(cls: type[T], text: str) -> T | None:
    """Return JSON ``text`` as a ``cls``, or None where that takes pydantic to tell."""
    if text.count("{") + text.count("[") > _DEEPEST:
        return None
    try:
        made: T = _table(cast("Any", cls))(json.loads(text))
    except (_Doubt, ValueError, RecursionError):
        return None
    return made


@cache
def _table(cls: Any) -> Convert:
    """Return what makes a dataclass of a JSON object."""
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    converts = {name: _convert(hints[name]) for name in fields}
    needed = frozenset(
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )

    def convert(value: Any) -> Any:
        if type(value) is not dict or not needed <= value.keys() <= converts.keys():
            raise _Doubt
        return cls(**{name: converts[name](part) for name, part in value.items()})

    return convert


def _convert(hint: Any) -> Convert:
    """Return what makes a value of a type of the few that our dataclasses use."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return _as_it_is
    if dataclasses.is_dataclass(hint):
        return _table(cast("Any", hint))
    if origin is typing.Annotated:
        return _limited(_convert(inner[0]), inner[1:])
    if origin in (typing.Union, types.UnionType):
        return _any_of([_convert(one) for one in inner])
    if origin is typing.Literal:
        return _that(lambda value: type(value) is str and value in inner)
    if origin is tuple:
        return _tuple([_convert(one) for one in inner if one is not ...], any_length=... in inner)
    if origin in (dict, Mapping):
        return _mapping(_convert(inner[1]))
    return _SIMPLE.get(hint, _that(lambda _: False))


def _as_it_is(value: Any) -> Any:
    return value


def _that(holds: Callable[[Any], bool]) -> Convert:
    def convert(value: Any) -> Any:
        if not holds(value):
            raise _Doubt
        return value

    return convert


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise _Doubt
    try:
        return float(value)
    except OverflowError as error:
        raise _Doubt from error


def _date(value: Any) -> dt.date:
    if type(value) is not str or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise _Doubt
    return dt.date.fromisoformat(value)


_SIMPLE: Final[dict[Any, Convert]] = {
    str: _that(lambda value: type(value) is str),
    bool: _that(lambda value: type(value) is bool),
    int: _that(lambda value: type(value) is int and abs(value) < 2**63),
    float: _number,
    dt.date: _date,
    type(None): _that(lambda value: value is None),
    dict: _that(lambda value: type(value) is dict),
}


def _limited(convert: Convert, limits: tuple[Any, ...]) -> Convert:
    holds: list[Callable[[Any], bool]] = [check for limit in limits for check in limit.checks()]

    def limited(value: Any) -> Any:
        made = convert(value)
        if not all(check(made) for check in holds):
            raise _Doubt
        return made

    return limited


def _any_of(converts: list[Convert]) -> Convert:
    def convert(value: Any) -> Any:
        for one in converts:
            try:
                return one(value)
            except _Doubt:
                continue
        raise _Doubt

    return convert


def _tuple(converts: list[Convert], *, any_length: bool) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is not list or (not any_length and len(value) != len(converts)):
            raise _Doubt
        return tuple([one(part) for one, part in zip(converts * len(value) if any_length else converts, value)])  # noqa: B905

    return convert


def _mapping(convert_value: Convert) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is not dict:
            raise _Doubt
        return value if convert_value is _as_it_is else {name: convert_value(part) for name, part in value.items()}

    return convert
