"""Dates and times: arithmetic, working days, the Chinese lunar calendar, the time now."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

_DAYS_ZH = "一二三四五六日"
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_BRANCHES = "子丑寅卯辰巳午未申酉戌亥"
_ANIMALS = "鼠牛虎兔龙蛇马羊猴鸡狗猪"
_ANIMALS_EN = ("Rat", "Ox", "Tiger", "Rabbit", "Dragon", "Snake", "Horse", "Goat", "Monkey", "Rooster", "Dog", "Pig")
_MONTHS = ("正", "二", "三", "四", "五", "六", "七", "八", "九", "十", "冬", "腊")
_MAX_SPAN = 4000


def current_time(*, zone: str = "UTC") -> dict[str, Any]:
    """Return the time now in a zone. Raises ValueError for a zone that is not known."""
    try:
        now = dt.datetime.now(ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{zone!r} is no time zone that is known, such as Asia/Shanghai") from None
    return {
        "time": now.isoformat(timespec="seconds"),
        "zone": zone,
        "weekday": calendar.day_name[now.weekday()],
        "weekday_zh": "星期" + _DAYS_ZH[now.weekday()],
        "unix": int(now.timestamp()),
    }


def calculate_date(
    *,
    date: str,
    until: str | None = None,
    add_days: int = 0,
    add_weeks: int = 0,
    add_months: int = 0,
    add_years: int = 0,
) -> dict[str, Any]:
    """Return the date some time later (years and months first, then weeks and days), and the days until another.

    Raises ValueError for a date that does not exist or lies outside the years 1 to 9999.
    """
    day = _parsed(date)
    try:
        months = day.year * 12 + day.month - 1 + add_years * 12 + add_months
        year, month = divmod(months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        day = dt.date(year, month + 1, min(day.day, last)) + dt.timedelta(days=add_days, weeks=add_weeks)
    except (ValueError, OverflowError, calendar.IllegalMonthError):
        raise ValueError("that date lies outside the years 1 to 9999") from None
    week = day.isocalendar()
    answer = {
        "date": day.isoformat(),
        "weekday": calendar.day_name[day.weekday()],
        "weekday_zh": "星期" + _DAYS_ZH[day.weekday()],
        "iso_week": f"{week.year:04}-W{week.week:02}",
    }
    if until is None:
        return answer
    return {**answer, "until": until, "days_until": (_parsed(until) - day).days}


def count_workdays(
    *, date: str, until: str | None = None, add: int | None = None, calendar: str = "CN"
) -> dict[str, Any]:
    """Return the working days from ``date`` to ``until``, both counted, or the day ``add`` working days on.

    Raises ValueError for a year whose Chinese holidays are not known, and for more than 4,000 days.
    """
    works = _chinese_workday if calendar == "CN" else _weekday
    day = _parsed(date)
    if until is not None:
        last = _parsed(until)
        span = (last - day).days + 1
        if span < 1:
            raise ValueError(f"{until} is before {date}")
        if span > _MAX_SPAN:
            raise ValueError(f"at most {_MAX_SPAN:,} days are counted")
        days = (day + dt.timedelta(days=number) for number in range(span))
        return {"workdays": sum(map(works, days)), "days": span, "calendar": calendar}
    left, step = abs(add or 0), 1 if (add or 0) > 0 else -1
    while left:
        day += dt.timedelta(days=step)
        left -= works(day)
    return {"date": day.isoformat(), "weekday": _weekday_name(day), "is_workday": works(day), "calendar": calendar}


def convert_lunar_date(*, date: str, from_: str = "gregorian", leap_month: bool = False) -> dict[str, Any]:
    """Return a date in both calendars. Raises ValueError for a day that the calendar does not have."""
    from lunardate import LunarDate

    year, month, number = map(int, date.split("-"))
    try:
        if from_ == "lunar":
            lunar = LunarDate(year, month, number, leap_month)
            solar = lunar.to_solar_date()
        else:
            solar = dt.date(year, month, number)
            lunar = LunarDate.from_solar_date(year, month, number)
    except (ValueError, IndexError, KeyError) as error:
        raise ValueError(f"{date} is no day of the {from_} calendar that is known (1900 to 2099): {error}") from None
    back = LunarDate.from_solar_date(solar.year, solar.month, solar.day)
    if (lunar.year, lunar.month, lunar.day) != (back.year, back.month, back.day):
        raise ValueError(f"the lunar month of {date} has no such day")
    place = (lunar.year - 4) % 60
    name = _STEMS[place % 10] + _BRANCHES[place % 12]
    leap = bool(lunar.is_leap_month)
    return {
        "gregorian": solar.isoformat(),
        "lunar": f"{lunar.year:04}-{lunar.month:02}-{lunar.day:02}",
        "lunar_text": f"{name}年{'闰' if leap else ''}{_MONTHS[lunar.month - 1]}月{_day_name(lunar.day)}",
        "leap_month": leap,
        "zodiac": _ANIMALS[place % 12],
        "zodiac_en": _ANIMALS_EN[place % 12],
        "stem_branch": name,
    }


def _parsed(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is no date that exists") from None


def _weekday(day: dt.date) -> bool:
    return day.weekday() < 5


def _weekday_name(day: dt.date) -> str:
    return calendar.day_name[day.weekday()]


def _chinese_workday(day: dt.date) -> bool:
    import chinese_calendar

    check: Callable[[dt.date], bool] = chinese_calendar.is_workday
    try:
        return check(day)
    except NotImplementedError:
        raise ValueError(
            f"the public holidays of {day.year} are not known to the installed chinesecalendar; "
            "upgrade it when the State Council has published them, or use the calendar plain"
        ) from None


def _day_name(day: int) -> str:
    if day in {10, 20, 30}:
        return {10: "初十", 20: "二十", 30: "三十"}[day]
    return ("初", "十", "廿")[day // 10] + _DAYS_NUMBERS[day % 10]


_DAYS_NUMBERS = "〇一二三四五六七八九"
