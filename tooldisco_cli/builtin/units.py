"""Units of measurement, with exact factors.

Sources: the SI brochure (9th edition), NIST SP 811 appendix B for imperial and US units, and the State Council's
order of 1984 for the Chinese market units (市制).
"""

from __future__ import annotations

import math
import unicodedata
from fractions import Fraction
from typing import Any

_F = Fraction
_INCH = _F(254, 10000)
_POUND = _F(45359237, 100000000)
_GALLON = _F("0.003785411784")
_IMPERIAL_GALLON = _F("0.00454609")
_PI = _F(math.pi)

# Kind, then each unit's size in the kind's base unit with all its names.
_TABLE: dict[str, list[tuple[Fraction, str]]] = {
    "length": [
        (_F(1), "m meter metre meters metres 米 公尺"), (_F(1000), "km kilometer kilometre kilometers kilometres 公里 千米"),
        (_F(1, 100), "cm centimeter centimetre centimeters centimetres 厘米 公分"), (_F(1, 10), "dm decimeter 分米"),
        (_F(1, 1000), "mm millimeter millimetre millimeters millimetres 毫米"), (_F(1, 10**6), "µm um micrometer micron 微米"),
        (_F(1, 10**9), "nm nanometer 纳米"), (_INCH, "in inch inches 英寸 吋"), (12 * _INCH, "ft foot feet 英尺 呎"),
        (36 * _INCH, "yd yard yards 码"), (63360 * _INCH, "mi mile miles 英里 哩"), (_F(1852), "nmi nautical_mile nautical_miles 海里"),
        (_F(500), "里 市里 华里"), (_F(10, 3), "丈 市丈"), (_F(1, 3), "尺 市尺"), (_F(1, 30), "寸 市寸"),
        (_F(149597870700), "au astronomical_unit 天文单位"), (_F(9460730472580800), "ly light_year light_years 光年"),
    ],
    "mass": [
        (_F(1), "kg kilogram kilograms kilo 千克 公斤"), (_F(1, 1000), "g gram grams 克"), (_F(1, 10**6), "mg milligram milligrams 毫克"),
        (_F(1, 10**9), "µg ug mcg microgram 微克"), (_F(1000), "t tonne tonnes metric_ton 吨 公吨"), (_POUND, "lb lbs pound pounds 磅 英磅"),
        (_POUND / 16, "oz ounce ounces 盎司"), (14 * _POUND, "st stone 英石"), (2000 * _POUND, "short_ton us_ton 短吨"),
        (2240 * _POUND, "long_ton 长吨"), (_F("0.0002"), "ct carat carats 克拉"), (_F(1, 2), "斤 市斤"), (_F(1, 20), "两 市两"),
        (_F(1, 200), "钱 市钱"), (_F(50), "担 市担"), (_F("0.0311034768"), "ozt troy_ounce 金衡盎司"),
    ],
    "area": [
        (_F(1), "m2 m² sqm square_meter square_metre square_meters square_metres 平方米 平米"), (_F(10**6), "km2 km² square_kilometer square_kilometers 平方公里 平方千米"),
        (_F(1, 10**4), "cm2 cm² square_centimeter 平方厘米"), (_F(1, 10**6), "mm2 mm² 平方毫米"), (_F(10**4), "ha hectare hectares 公顷"),
        (_F(100), "are 公亩"), (_F(2000, 3), "亩 市亩 mu"), (_F(20000, 3), "顷 市顷"), (_INCH**2, "in2 sq_in square_inch 平方英寸"),
        ((12 * _INCH) ** 2, "ft2 sqft sq_ft square_foot square_feet 平方英尺"), (43560 * (12 * _INCH) ** 2, "ac acre acres 英亩"),
        ((63360 * _INCH) ** 2, "mi2 square_mile square_miles 平方英里"), (_F(400, 121), "坪 ping tsubo"),
    ],
    "volume": [
        (_F(1), "m3 m³ cubic_meter cubic_metre cubic_meters 立方米"), (_F(1, 1000), "l liter litre liters litres 升 公升"),
        (_F(1, 10**6), "ml milliliter millilitre cc cm3 cm³ 毫升 立方厘米"), (_F(1, 10**5), "cl centiliter"),
        (_GALLON, "gal gallon gallons us_gallon 加仑 美制加仑"), (_GALLON / 4, "qt quart quarts"), (_GALLON / 8, "pt pint pints 品脱"),
        (_GALLON / 16, "cup cups 杯"), (_GALLON / 128, "fl_oz fluid_ounce fluid_ounces 液盎司"), (_GALLON / 256, "tbsp tablespoon tablespoons 汤匙"),
        (_GALLON / 768, "tsp teaspoon teaspoons 茶匙"), (_IMPERIAL_GALLON, "imperial_gallon uk_gallon 英制加仑"), (_IMPERIAL_GALLON / 8, "imperial_pint uk_pint"),
        ((12 * _INCH) ** 3, "ft3 cubic_foot cubic_feet 立方英尺"), (_INCH**3, "in3 cubic_inch 立方英寸"), (_F("0.158987294928"), "bbl barrel barrels 桶 石油桶"),
    ],
    "speed": [
        (_F(1), "m/s mps meters_per_second 米每秒 米/秒"), (_F(5, 18), "km/h kmh kph kilometers_per_hour 公里每小时 公里/小时 千米每小时"),
        (_F(63360) * _INCH / 3600, "mph mi/h miles_per_hour 英里每小时 英里/小时"), (_F(1852, 3600), "kn knot knots kt 节"), (12 * _INCH, "ft/s fps 英尺每秒"),
    ],
    "time": [
        (_F(1), "s sec second seconds 秒"), (_F(1, 1000), "ms millisecond milliseconds 毫秒"), (_F(1, 10**6), "µs us microsecond 微秒"),
        (_F(1, 10**9), "ns nanosecond 纳秒"), (_F(60), "min minute minutes 分钟 分"), (_F(3600), "h hr hour hours 小时"), (_F(86400), "d day days 天 日"),
        (_F(604800), "wk week weeks 周 星期"), (_F(7200), "时辰"), (_F(900), "刻"), (_F(31557600), "julian_year 儒略年"),
    ],
    "data": [
        (_F(1), "bit bits 比特"), (_F(8), "b byte bytes 字节"), *((_F(8 * 1000**n), names) for n, names in enumerate(("kb kilobyte kilobytes", "mb megabyte megabytes", "gb gigabyte gigabytes", "tb terabyte terabytes", "pb petabyte petabytes"), 1)),
        *((_F(8 * 1024**n), names) for n, names in enumerate(("kib kibibyte", "mib mebibyte", "gib gibibyte", "tib tebibyte", "pib pebibyte"), 1)),
        (_F(1000), "kbit kilobit"), (_F(10**6), "mbit megabit"), (_F(10**9), "gbit gigabit"),
    ],
    "energy": [
        (_F(1), "j joule joules 焦耳 焦"), (_F(1000), "kj kilojoule 千焦"), (_F(10**6), "megajoule 兆焦"), (_F("4.184"), "cal calorie calories 卡路里 卡"),
        (_F(4184), "kcal kilocalorie kilocalories 大卡 千卡"), (_F(3600), "wh watt_hour 瓦时"), (_F(3600000), "kwh kilowatt_hour kilowatt_hours 千瓦时 度 度电"),
        (_F("1055.05585262"), "btu"), (_F("1.602176634e-19"), "ev electronvolt 电子伏特"),
    ],
    "power": [
        (_F(1), "w watt watts 瓦 瓦特"), (_F(1000), "kw kilowatt kilowatts 千瓦"), (_F(10**6), "megawatt megawatts 兆瓦"),
        (_F("735.49875"), "ps metric_horsepower 马力 公制马力"), (_F("745.69987158227022"), "hp horsepower 英制马力"),
    ],
    "pressure": [
        (_F(1), "pa pascal 帕 帕斯卡"), (_F(1000), "kpa kilopascal 千帕"), (_F(10**6), "megapascal 兆帕"), (_F(100), "hpa hectopascal mbar millibar 百帕 毫巴"),
        (_F(10**5), "bar 巴"), (_F(101325), "atm atmosphere 标准大气压 大气压"), (_F(101325, 760), "torr mmhg 毫米汞柱"), (_POUND * _F("9.80665") / _INCH**2, "psi 磅每平方英寸"),
    ],
    "angle": [
        (_F(1), "deg ° degree degrees 角度"), (180 / _PI, "rad radian radians 弧度"), (_F(9, 10), "gon grad 百分度"), (_F(1, 60), "arcmin 角分"), (_F(1, 3600), "arcsec 角秒"), (_F(360), "turn turns 圈"),
    ],
    "frequency": [(_F(1), "hz hertz 赫兹"), (_F(1000), "khz 千赫"), (_F(10**6), "mhz 兆赫"), (_F(10**9), "ghz 吉赫"), (_F(1, 60), "rpm 转每分")],
}  # fmt: skip
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
_NAMES: dict[str, tuple[str, Fraction]] = {
    name: (kind, size) for kind, units in _TABLE.items() for size, names in units for name in names.split()
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


def _unit(name: str) -> tuple[str, Fraction]:
    if name.strip() in _CASED:
        return _CASED[name.strip()]
    found = _NAMES.get(_key(name))
    if found is not None:
        return found
    if _temperature(name) or _key(name) in _FUEL:
        return ("temperature" if _temperature(name) else "fuel use"), _F(1)
    from difflib import get_close_matches

    near = get_close_matches(_key(name), _NAMES, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise ValueError(f"{name!r} is no unit that is known here{hint}")


def _temperature(name: str) -> str | None:
    return _TEMPERATURES.get(_key(name))


def _heat(value: float, source: str, target: str) -> Fraction:
    number = Fraction(repr(float(value)))
    to_kelvin = {
        "C": lambda t: t + _F("273.15"),
        "F": lambda t: (t + _F("459.67")) * 5 / 9,
        "K": lambda t: t,
    }
    kelvin = to_kelvin[source](number)
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
