"""Charts as PNG files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from tooldisco_cli.builtin import places
from tooldisco_cli.builtin.context import Context

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DPI = 100
_CHINESE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Microsoft YaHei", "PingFang SC", "Heiti SC", "SimHei",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Noto Serif CJK SC", "Noto Sans CJK JP", "Noto Serif CJK JP",
)  # fmt: skip


def plot_chart(
    *,
    kind: str,
    series: list[dict[str, Any]],
    output: str,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    width: int = 1000,
    height: int = 600,
    context: Context,
) -> dict[str, Any]:
    """Draw series of numbers and write them as PNG.

    Raises ValueError for series that cannot be drawn so, such as a pie of several series or of negative numbers.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for one in series:
        if "x" in one and len(one["x"]) != len(one["y"]):
            raise ValueError(f"a series has {len(one['x'])} x and {len(one['y'])} y; they must be as many")
    # A text with $ is no formula here, and a font is taken only when it is there.
    settings: dict[Any, Any] = {
        "text.parse_math": False,
        "axes.unicode_minus": False,
        "font.family": [*_fonts(), "DejaVu Sans"],
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _DRAWERS[kind](axes, series)
        axes.set_title(title)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        if kind != "pie" and any(one.get("name") for one in series):
            axes.legend()
        data = io.BytesIO()
        figure.savefig(data, format="png")
    place = places.write_new(output, data.getvalue(), context)
    return {"path": places.shown(place, context), "width": width, "height": height, "size": len(data.getvalue())}


def _fonts() -> list[str]:
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in _CHINESE_FONTS if name in installed][:1]


def _places_of(series: list[dict[str, Any]]) -> tuple[list[Any], bool]:
    """Return every x in order of appearance, and whether they are names."""
    named = any(isinstance(x, str) for one in series for x in one.get("x", ()))
    order: dict[Any, None] = {}
    for one in series:
        order |= dict.fromkeys(str(x) if named else x for x in one.get("x", range(1, len(one["y"]) + 1)))
    return list(order), named


def _line(axes: Axes, series: list[dict[str, Any]], *, points: bool = False) -> None:
    order, named = _places_of(series)
    for one in series:
        given = one.get("x", range(1, len(one["y"]) + 1))
        at = [order.index(str(x)) for x in given] if named else list(given)
        if points:
            axes.scatter(at, one["y"], label=one.get("name"))
        else:
            axes.plot(at, one["y"], marker="o" if len(at) <= 50 else None, label=one.get("name"))
    if named:
        axes.set_xticks(range(len(order)), order)
    axes.grid(visible=True, alpha=0.3)


def _scatter(axes: Axes, series: list[dict[str, Any]]) -> None:
    _line(axes, series, points=True)


def _bar(axes: Axes, series: list[dict[str, Any]]) -> None:
    order, _ = _places_of(series)
    if len(order) * len(series) > 2000:
        raise ValueError("at most 2,000 bars are drawn")
    index = {str(x): position for position, x in enumerate(order)}
    wide = 0.8 / len(series)
    for number, one in enumerate(series):
        given = one.get("x", range(1, len(one["y"]) + 1))
        at = [index[str(x)] + (number - (len(series) - 1) / 2) * wide for x in given]
        axes.bar(at, one["y"], wide, label=one.get("name"))
    axes.set_xticks(range(len(order)), [str(x) for x in order])
    axes.grid(visible=True, axis="y", alpha=0.3)


def _pie(axes: Axes, series: list[dict[str, Any]]) -> None:
    if len(series) != 1:
        raise ValueError("a pie shows one series")
    values = series[0]["y"]
    if min(values) < 0 or not sum(values):
        raise ValueError("a pie needs numbers that are not negative, and one above zero")
    if len(values) > 50:
        raise ValueError("a pie of more than 50 pieces cannot be read")
    labels = [str(x) for x in series[0].get("x", range(1, len(values) + 1))]
    axes.pie(values, labels=labels, autopct="%1.1f%%")


def _histogram(axes: Axes, series: list[dict[str, Any]]) -> None:
    for one in series:
        axes.hist(one["y"], bins="auto" if len(one["y"]) <= 10_000 else 100, alpha=0.7, label=one.get("name"))


_DRAWERS = {"line": _line, "scatter": _scatter, "bar": _bar, "pie": _pie, "histogram": _histogram}
