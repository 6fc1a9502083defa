"""Arithmetic, statistics, records, units and dates."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.builtin import calculator, dates, records, stats, units


def value(expression: str) -> Any:
    return calculator.calculate(expression=expression)["value"]


class TestCalculator:
    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("0.1 + 0.2", 0.3),
            ("(3+5)×12÷8", 12),
            ("15% of 2380", 357),
            ("200 * 15%", 30),
            ("-7 % 3", 2),
            ("-7 // 2", -4),
            ("2^10", 1024),
            ("2**-1", 0.5),
            ("sqrt(16)", 4),
            ("√(2.25)", 1.5),
            ("１２＋３", 15),
            ("round(2.5)", 2),
            ("log2(8)", 3),
            ("round(2.345, 2)", 2.34),
            ("max(1, 2, 3) - min(4, 5)", -1),
            ("factorial(5)", 120),
            ("comb(5, 2)", 10),
            ("gcd(12, 18)", 6),
            ("1_000 + 1e3", 2000),
            ("0x1F", 31),
            ("--3", 3),
            ("2**100", str(2**100)),
            ("floor(-1.5)", -2),
            ("sum(1, 2, 3)", 6),
            ("abs(-3)", 3),
            ("ceil(1.2)", 2),
        ],
    )
    def test_computes(self, expression: str, expected: object) -> None:
        assert value(expression) == expected

    def test_says_what_was_rounded(self) -> None:
        assert calculator.calculate(expression="1/8") == {"value": 0.125, "exact": True}
        assert calculator.calculate(expression="1/3")["exact"] is False
        assert calculator.calculate(expression="sin(pi/2)") == {"value": 1, "exact": False}

    @pytest.mark.parametrize(
        "expression",
        [
            "__import__('os').system('id')",
            "().__class__",
            "open('/etc/passwd')",
            "lambda: 1",
            "[1 for x in y]",
            "a := 1",
            "'a' * 3",
            "True + 1",
            "x",
            "1 if 1 else 2",
            "f(1)",
            "sqrt(x=1)",
            "1 +",
            "",
            "1; 2",
            "pow(2, 3)",
            "1 < 2",
            "~1",
            "1 @ 2",
            "(1).real",
            "print(1)",
            "sum([1])",
            "abs()",
            "round(1, 2, 3)",
            "1j",
            "b'1' + 1",
            "f'{1}'",
            "...",
        ],
    )
    def test_is_no_python(self, expression: str) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            value(expression)

    @pytest.mark.parametrize(
        "expression",
        [
            "9**9**9",
            "10**10000",
            "(10**3000)**2000",
            "1/0",
            "1//0",
            "1 % 0",
            "0**-1",
            "(-8)**0.5",
            "sqrt(-1)",
            "log(0)",
            "factorial(100000)",
            "factorial(2.5)",
            "exp(100000)",
            "acos(2)",
            "1e999999",
            "9" * 5000,
            "-" * 500 + "1",
            "comb(10**9, 10**8)",
            "lcm(" + ",".join(["999999937"] * 21) + ")",
        ],
    )
    def test_is_bounded(self, expression: str) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            value(expression)

    @given(
        st.recursive(
            st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-1000, max_value=1000),
            lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner),
            max_leaves=8,
        )
    )
    def test_agrees_with_exact_fractions(self, tree: Any) -> None:
        def written(node: Any) -> str:
            return f"({written(node[0])} {node[1]} {written(node[2])})" if isinstance(node, tuple) else f"({node})"

        def computed(node: Any) -> Fraction:
            if not isinstance(node, tuple):
                return Fraction(node)
            left, right = computed(node[0]), computed(node[2])
            return {"+": left + right, "-": left - right, "*": left * right}[node[1]]

        got = calculator.calculate(expression=written(tree))
        expected = computed(tree)
        if got["exact"]:
            assert Fraction(Decimal(str(got["value"]))) == expected
        else:
            assert math.isclose(float(got["value"]), float(expected), rel_tol=1e-12)

    @given(st.text(alphabet="0123456789+-*/%().,epi sqrt", max_size=40))
    def test_answers_or_says_why_not(self, expression: str) -> None:
        try:
            got = calculator.calculate(expression=expression)
        except ValueError as error:
            assert str(error)
        else:
            assert isinstance(got["value"], int | float | str)


class TestStatistics:
    def test_one_number(self) -> None:
        got = stats.describe_statistics(numbers=[4])
        assert (got["mean"], got["median"], got["standard_deviation"], got["quartiles"]) == (4, 4, None, None)

    @given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
    def test_is_what_the_standard_library_says(self, numbers: list[float]) -> None:
        got = stats.describe_statistics(numbers=numbers)
        assert got["variance"] == statistics.variance(numbers)
        assert got["minimum"] <= got["median"] <= got["maximum"]

    @given(
        st.floats(-100, 100),
        st.floats(-100, 100),
        st.lists(st.integers(-50, 50), min_size=2, max_size=20, unique=True),
    )
    def test_a_line_is_found_again(self, slope: float, intercept: float, x: list[int]) -> None:
        got = stats.fit_line(x=x, y=[slope * at + intercept for at in x], predict=[1000])
        assert got["slope"] == pytest.approx(slope, abs=1e-6)
        assert got["predictions"][0] == pytest.approx(slope * 1000 + intercept, abs=1e-2, rel=1e-6)

    def test_what_is_no_line(self) -> None:
        with pytest.raises(ValueError, match="the same"):
            stats.fit_line(x=[1, 1], y=[1, 2])
        with pytest.raises(ValueError, match="as many"):
            stats.fit_line(x=[1, 2], y=[1])


ROWS = [
    {"city": "上海", "total": 3, "note": None},
    {"city": "北京", "total": 10},
    {"city": "上海", "total": 4.5},
    {"city": None, "total": "x"},
]


class TestRecords:
    def test_sorts_by_several_fields_with_missing_last(self) -> None:
        rows = [{"a": 2, "b": "x"}, {"a": 10, "b": "y"}, {"b": "z"}, {"a": 2, "b": "a"}, {"a": None}]
        got = records.sort_records(records=rows, by=["-a", "b"])["records"]
        assert got == [{"a": 10, "b": "y"}, {"a": 2, "b": "a"}, {"a": 2, "b": "x"}, {"b": "z"}, {"a": None}]
        assert records.sort_records(records=rows, by=["a"], limit=1) == {"records": [{"a": 2, "b": "x"}], "total": 5}

    def test_mixed_kinds_have_an_order(self) -> None:
        rows = [{"a": kind} for kind in ("x", 3, True, [1], {"k": 1}, 1.5)]
        got = [row["a"] for row in records.sort_records(records=rows, by=["a"])["records"]]
        assert got == [True, 1.5, 3, "x", [1], {"k": 1}]

    def test_groups(self) -> None:
        wanted = [{"field": "total", "function": name} for name in ("sum", "mean", "min", "max", "count", "distinct")]
        got = records.group_records(records=ROWS[:3], by=["city"], aggregates=wanted)
        assert got["groups"][0] == {
            "city": "上海",
            "count": 2,
            "sum_total": 7.5,
            "mean_total": 3.75,
            "min_total": 3,
            "max_total": 4.5,
            "count_total": 2,
            "distinct_total": 2,
        }
        assert got["total"] == 2

    def test_what_cannot_be_added_is_told(self) -> None:
        with pytest.raises(ValueError, match="'x', which is no number"):
            records.group_records(records=ROWS, by=["city"], aggregates=[{"field": "total", "function": "sum"}])
        empty = records.group_records(records=ROWS, by=["city"], aggregates=[{"field": "none", "function": "mean"}])
        assert empty["groups"][0]["mean_none"] is None


class TestUnits:
    @pytest.mark.parametrize(
        ("number", "source", "target", "expected"),
        [
            (5, "mile", "km", 8.04672),
            (1, "斤", "克", 500),
            (100, "°F", "°C", 37.7777777777778),
            (1, "公顷", "平方米", 10000),
            (1, "亩", "平方米", 666.666666666667),
            (60, "mph", "km/h", 96.56064),
            (1, "GB", "MB", 1000),
            (1, "GiB", "MiB", 1024),
            (1, "Mb", "MB", 0.125),
            (1, "kWh", "MJ", 3.6),
            (0, "K", "摄氏度", -273.15),
            (8, "l/100km", "mpg", 29.4018229166667),
            (1, "Square Meter", "sq ft", 10.7639104167097),
            (180, "deg", "rad", math.pi),
            (1, "马力", "W", 735.49875),
            (1, "US gallon", "L", 3.785411784),
            (32, "华氏度", "℃", 0),
            (1, "psi", "kPa", 6.89475729316836),
            (1, "里", "公里", 0.5),
        ],
    )
    def test_converts(self, number: float, source: str, target: str, expected: float) -> None:
        assert units.convert_units(value=number, from_=source, to=target)["value"] == pytest.approx(
            expected, rel=1e-12
        )

    def test_what_cannot_be_converted(self) -> None:
        for arguments, said in (
            ((1, "m", "kg"), "length, kg of mass"),
            ((1, "mter", "km"), "did you mean meter"),
            ((-300, "C", "F"), "absolute zero"),
            ((0, "mpg", "l/100km"), "above zero"),
            ((1, "C", "m"), "temperature"),
        ):
            with pytest.raises(ValueError, match=said):
                units.convert_units(value=arguments[0], from_=arguments[1], to=arguments[2])

    def test_no_name_is_used_twice(self) -> None:
        from pathlib import Path

        lines = Path(units.__file__).with_name("units.tsv").read_text(encoding="utf-8").splitlines()
        names = [name for line in lines if not line.startswith("#") for name in line.split("\t")[2].split()]
        assert len(names) == len(set(names))
        assert {name for name in names if name != name.lower()} == set()

    @given(st.data(), st.floats(1e-6, 1e6))
    def test_there_and_back_is_the_same(self, data: st.DataObject, number: float) -> None:
        table = units._names()
        source = data.draw(st.sampled_from(sorted(table)))
        target = data.draw(st.sampled_from(sorted(name for name in table if table[name][0] == table[source][0])))
        there = units.convert_units(value=number, from_=source, to=target)["value"]
        back = units.convert_units(value=there, from_=target, to=source)["value"]
        assert back == pytest.approx(number, rel=1e-9)


class TestDates:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({"add_months": 1}, "2024-02-29"),
            ({"add_years": 1, "add_months": 1}, "2025-02-28"),
            ({"add_days": -31}, "2023-12-31"),
            ({"add_weeks": 1}, "2024-02-07"),
            ({"add_months": -13}, "2022-12-31"),
        ],
    )
    def test_adds(self, arguments: dict[str, int], expected: str) -> None:
        assert dates.calculate_date(date="2024-01-31", **arguments)["date"] == expected

    @given(st.dates(), st.integers(-100_000, 100_000))
    def test_days_count_back(self, day: dt.date, number: int) -> None:
        try:
            later = dates.calculate_date(date=day.isoformat(), add_days=number)["date"]
        except ValueError:
            return
        assert dates.calculate_date(date=later, until=day.isoformat())["days_until"] == -number

    def test_weekday_and_week(self) -> None:
        got = dates.calculate_date(date="2027-01-01")
        assert (got["weekday"], got["weekday_zh"], got["iso_week"]) == ("Friday", "星期五", "2026-W53")

    @pytest.mark.parametrize("date", ["2023-02-29", "0000-01-01", "2023-13-01"])
    def test_dates_that_do_not_exist(self, date: str) -> None:
        with pytest.raises(ValueError, match="no date"):
            dates.calculate_date(date=date)
        with pytest.raises(ValueError, match="years 1 to 9999"):
            dates.calculate_date(date="9999-12-31", add_days=1)

    def test_workdays_know_holidays_and_worked_weekends(self) -> None:
        # The State Council's notice for 2025: 1 to 8 October off, 28 September and 11 October worked.
        assert dates.count_workdays(date="2025-10-01", until="2025-10-08")["workdays"] == 0
        assert dates.count_workdays(date="2025-10-11", until="2025-10-12")["workdays"] == 1
        assert dates.count_workdays(date="2025-10-11", until="2025-10-12", calendar="plain")["workdays"] == 0
        assert dates.count_workdays(date="2025-09-30", add=1)["date"] == "2025-10-09"
        assert dates.count_workdays(date="2025-10-09", add=-1)["date"] == "2025-09-30"

    def test_years_that_nobody_knows_are_told(self) -> None:
        with pytest.raises(ValueError, match="not known"):
            dates.count_workdays(date="2090-01-01", until="2090-01-02")
        with pytest.raises(ValueError, match="before"):
            dates.count_workdays(date="2025-01-02", until="2025-01-01")
        with pytest.raises(ValueError, match="at most"):
            dates.count_workdays(date="2000-01-01", until="2025-01-01", calendar="plain")

    @pytest.mark.parametrize(
        ("solar", "lunar", "text"),
        [
            ("2026-02-17", "2026-01-01", "丙午年正月初一"),
            ("2025-10-06", "2025-08-15", "乙巳年八月十五"),
            ("2025-08-22", "2025-06-29", "乙巳年闰六月廿九"),
            ("2024-02-09", "2023-12-30", "癸卯年腊月三十"),
        ],
    )
    def test_lunar_dates_both_ways(self, solar: str, lunar: str, text: str) -> None:
        got = dates.convert_lunar_date(date=solar)
        assert (got["lunar"], got["lunar_text"]) == (lunar, text)
        back = dates.convert_lunar_date(date=lunar, from_="lunar", leap_month="闰" in text)
        assert back == got

    def test_lunar_days_that_do_not_exist(self) -> None:
        for arguments in (
            {"date": "2026-01-31", "from_": "lunar"},
            {"date": "2026-02-30"},
            {"date": "2026-06-01", "from_": "lunar", "leap_month": True},
            {"date": "2026-13-01", "from_": "lunar"},
        ):
            with pytest.raises(ValueError, match="2026"):
                dates.convert_lunar_date(**arguments)

    def test_the_time_now(self) -> None:
        got = dates.current_time(zone="Asia/Shanghai")
        assert got["time"].endswith("+08:00")
        assert abs(got["unix"] - dt.datetime.now(dt.UTC).timestamp()) < 5
        with pytest.raises(ValueError, match="no time zone"):
            dates.current_time(zone="Asia/Nowhere")
        with pytest.raises(ValueError, match="no time zone"):
            dates.current_time(zone="../../etc/passwd")
