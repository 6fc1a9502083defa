"""The JSON Schema validator, made safe for arguments that a stranger wrote.

What is added to jsonschema: a time limit on regular expressions, ``uniqueItems`` in linear time, formats that its
own checkers leave out or hardly check, and no reference is ever fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from tooldisco_cli.errors import CatalogInvalid, InvalidArguments

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

PATTERN_SECONDS = 1.0
"""How long one regular expression of a schema may look at one text."""
MAX_ERRORS = 200
"""No more faults than these are looked at."""

_PLAIN_TEXT = 300
_REPEATS = re.compile(r"[*+]|\{\d*,\d*\}")
_EMAIL = re.compile(r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+@[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+")
_DURATION = re.compile(
    r"P(?:[0-9]+W|(?=[0-9T])(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?)"
)


def faults(arguments: Any, schema: Mapping[str, Any]) -> list[ValidationError]:
    """Return what is wrong with arguments, at most ``MAX_ERRORS`` faults, in no special order.

    Raises CatalogInvalid for a schema that cannot be used, InvalidArguments where a pattern takes too long.
    """
    from jsonschema import validators
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it ships no types

    dialect = validators.validator_for(schema, default=validators.Draft202012Validator)
    checked = _hardened(dialect)
    try:
        validator = checked(schema, registry=REGISTRY, format_checker=_formats(dialect))
        return list(islice(validator.iter_errors(arguments), MAX_ERRORS))
    except (InvalidArguments, CatalogInvalid):
        raise
    except RecursionError:
        raise CatalogInvalid("input_schema refers to itself without end") from None
    except Exception as trouble:  # a schema that is no schema fails in many ways, and so does an unknown $ref
        reason = str(trouble).splitlines()[0][:200] if str(trouble) else type(trouble).__name__
        raise CatalogInvalid(
            f"input_schema cannot be used: {reason}",
            hint="run: tooldisco tools check; a $ref must point into the schema itself, none is ever fetched",
        ) from trouble


@cache
def _hardened(dialect: Any) -> Any:
    from jsonschema import validators

    extend: Any = validators.extend
    return extend(
        dialect,
        {
            "pattern": _pattern,
            "properties": _properties,
            "patternProperties": _pattern_properties,
            "additionalProperties": _additional_properties,
            "uniqueItems": _unique_items,
        },
    )


def _pattern(validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and not matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _properties(validator: Any, declared: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """Check declared properties; the library's own leaves out the path where a property's schema is false."""
    if not validator.is_type(instance, "object"):
        return
    for name, inner in declared.items():
        if name in instance:
            for error in validator.descend(instance[name], inner, schema_path=name):
                error.path.appendleft(name)
                yield error


def _additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "object"):
        return
    extras = unknown_names(instance, schema)
    if validator.is_type(wanted, "object"):
        for name in extras:
            yield from validator.descend(instance[name], wanted, path=name)
    elif wanted is False and extras:
        yield ValidationError(f"unknown: {', '.join(extras)}")


def unknown_names(instance: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return the names that neither ``properties`` nor ``patternProperties`` of a schema speak of."""
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return [
        name for name in instance if name not in declared and not any(matches(pattern, name) for pattern in patterns)
    ]


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, inner in patterns.items():
        for name, value in instance.items():
            if matches(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def matches(pattern: str, text: str) -> bool:
    """Whether a regular expression is found in a text. Raises InvalidArguments when that takes too long.

    ``re`` cannot be stopped, so it only gets what cannot take long: a short text and at most one repetition.
    """
    if len(text) <= _PLAIN_TEXT and len(_REPEATS.findall(pattern)) <= 1 and not re.search(r"\)[*+{]", pattern):
        try:
            return re.search(pattern, text) is not None
        except re.error:
            pass  # such as \p{L}, which ``regex`` knows
    import regex

    try:
        return regex.search(pattern, text, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        raise InvalidArguments(
            f"checking a text of {len(text)} characters against the pattern {pattern[:80]!r} takes too long",
            hint="give a shorter text; the tool's author should write a pattern without nested repetition",
        ) from None
    except regex.error as trouble:
        raise CatalogInvalid(f"input_schema: the pattern {pattern[:80]!r} is not valid: {trouble}") from trouble


def _unique_items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not wanted or not validator.is_type(instance, "array"):
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(instance):
        first = seen.setdefault(json.dumps(_comparable(item), sort_keys=True), index)
        if first != index:
            yield ValidationError(f"items {first} and {index} are the same")
            return


def _comparable(value: Any) -> Any:
    """Return a value in which 1.0 and 1 are the same, as JSON Schema has it."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return value


@cache
def _formats(dialect: Any) -> Any:
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    checker.checkers = dict(dialect.FORMAT_CHECKER.checkers)
    checker.checks("email")(_is_email)
    checker.checks("idn-email")(_is_email)
    checker.checks("duration")(lambda value: not isinstance(value, str) or bool(_DURATION.fullmatch(value)))
    return checker


def _is_email(value: object) -> bool:
    """Whether a text is one address without a name, comment or control character; jsonschema asks only for an @."""
    return not isinstance(value, str) or bool(_EMAIL.fullmatch(value))
