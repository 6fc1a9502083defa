"""Statistics of numbers."""

from __future__ import annotations

import math
import statistics
from typing import Any


def describe_statistics(*, numbers: list[float]) -> dict[str, Any]:
    """Return the usual measures of a list of numbers; spread and quartiles are None for a single one.

    Standard deviation and variance are the sample's (n - 1).
    """
    several = len(numbers) > 1
    modes = statistics.multimode(numbers)
    return {
        "count": len(numbers),
        "sum": _tidy(math.fsum(numbers)),
        "mean": statistics.fmean(numbers),
        "median": statistics.median(numbers),
        "modes": modes if len(modes) <= 10 else [],
        "minimum": min(numbers),
        "maximum": max(numbers),
        "standard_deviation": statistics.stdev(numbers) if several else None,
        "variance": statistics.variance(numbers) if several else None,
        "quartiles": statistics.quantiles(numbers, n=4) if several else None,
    }


def fit_line(*, x: list[float], y: list[float], predict: list[float] | None = None) -> dict[str, Any]:
    """Return the least-squares line through points, r squared, and its y at new x.

    Raises ValueError for lists of different lengths, or when all x are the same.
    """
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} numbers and y has {len(y)}; they must be as many")
    try:
        slope, intercept = statistics.linear_regression(x, y)
    except statistics.StatisticsError:
        raise ValueError("all x are the same, so there is no line") from None
    mean = statistics.fmean(y)
    total = math.fsum((value - mean) ** 2 for value in y)
    left = math.fsum((value - (slope * at + intercept)) ** 2 for at, value in zip(x, y, strict=True))
    return {
        "slope": slope,
        "intercept": intercept,
        "r_squared": 1.0 - left / total if total else 1.0,
        "count": len(x),
        "predictions": [slope * at + intercept for at in predict or []],
    }


def _tidy(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
