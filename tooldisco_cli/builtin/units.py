"""Units of measurement, with exact factors; ``units.tsv`` beside this file has them, with its sources."""

from __future__ import annotations

import unicodedata
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

_F = Fraction
_INCH = _F(254, 10000)
_GALLON = _F("0.003785411784")
_IMPERIAL_GALLON = _F("0.00454609")

_TEMPERATURES = {
    **dict.fromkeys(("°c", "c", "celsius", "degc", "摄氏度", "摄氏", "℃"), "C"),
    **dict.fromkeys(("°f", "f", "fahrenheit", "degf", "华氏度", "华氏", "℉"), "F"),
    **dict.fromkeys(("k", "kelvin", "开尔文", "开"), "K"),
}
_FUEL = {
    **dict.fromkeys(("l/100km", "升每百公里", "升/百公里", "百公里油耗"), "l/100km"),
    **dict.fromkeys(("mpg", "miles_per_gallon", "us_mpg"), "mpg"),
    **dict.fromkeys(("imperial_mpg", "uk_mpg"), "imperial_mpg"),
    **dict.fromkeys(("km/l", "公里每升", "公里/升"), "km/l"),
}
# Where only the case tells two units apart, it is told here, before case is dropped.
_CASED = {"Mb": ("data", _F(10**6)), "Kb": ("data", _F(1000)), "Gb": ("data", _F(10**9)), "MJ": ("energy", _F(10**6)),
          "MW": ("power", _F(10**6)), "MPa": ("pressure", _F(10**6)), "Mbps": ("data", _F(10**6))}  # fmt: skip


def convert_units(*, value: float, from_: str, to: str) -> dict[str, Any]:
    """Return a quantity in another unit of the same kind.

    Raises ValueError for a unit that is not known, for units of different kinds, and for what cannot be, such as a
    temperature below absolute zero.
    """
    source, target = _temperature(from_), _temperature(to)
    if source and target:
        return {"value": _rounded(_heat(value, source, target)), "unit": to, "kind": "temperature"}
    fuel, wanted = _FUEL.get(_key(from_)), _FUEL.get(_key(to))
    if fuel and wanted:
        return {"value": _rounded(_fuel(value, fuel, wanted)), "unit": to, "kind": "fuel use"}
    kind, size = _unit(from_)
    other, into = _unit(to)
    if kind != other:
        raise ValueError(f"{from_} is a unit of {kind}, {to} of {other}; they cannot be converted")
    return {"value": _rounded(Fraction(repr(float(value))) * size / into), "unit": to, "kind": kind}


def _key(name: str) -> str:
    text = unicodedata.normalize("NFC", name).strip().lower().replace("μ", "µ")
    return "_".join(text.split())


@cache
def _names() -> dict[str, tuple[str, Fraction]]:
    """Return every name in lower case, with its kind and size."""
    names: dict[str, tuple[str, Fraction]] = {}
    for line in Path(__file__).with_name("units.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, size, written = line.split("\t")
            names |= dict.fromkeys(written.split(), (kind, Fraction(size)))
    return names


def _unit(name: str) -> tuple[str, Fraction]:
    if name.strip() in _CASED:
        return _CASED[name.strip()]
    found = _names().get(_key(name))
    if found is not None:
        return found
    if _temperature(name) or _key(name) in _FUEL:
        return ("temperature" if _temperature(name) else "fuel use"), _F(1)
    from difflib import get_close_matches

    near = get_close_matches(_key(name), _names(), n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise ValueError(f"{name!r} is no unit that is known here{hint}")


def _temperature(name: str) -> str | None:
    return _TEMPERATURES.get(_key(name))


def _heat(value: float, source: str, target: str) -> Fraction:
    number = Fraction(repr(float(value)))
    kelvin = number
    if source == "C":
        kelvin = number + _F("273.15")
    elif source == "F":
        kelvin = (number + _F("459.67")) * 5 / 9
    if kelvin < 0:
        raise ValueError(f"{value} is below absolute zero")
    from_kelvin = {"C": kelvin - _F("273.15"), "F": kelvin * 9 / 5 - _F("459.67"), "K": kelvin}
    return from_kelvin[target]


def _fuel(value: float, source: str, target: str) -> Fraction:
    if value <= 0:
        raise ValueError("fuel use must be above zero")
    number = Fraction(repr(float(value)))
    mile = _F(63360) * _INCH / 1000
    per_liter = {"mpg": mile / (_GALLON * 1000), "imperial_mpg": mile / (_IMPERIAL_GALLON * 1000), "km/l": _F(1)}
    kilometers = 100 / number if source == "l/100km" else number * per_liter[source]
    return 100 / kilometers if target == "l/100km" else kilometers / per_liter[target]


def _rounded(number: Fraction) -> int | float:
    if number.denominator == 1 and abs(number.numerator) < 2**53:
        return number.numerator
    return float(f"{float(number):.15g}")
