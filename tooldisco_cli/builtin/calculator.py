"""Arithmetic by walking a parsed expression; nothing is ever evaluated as Python."""

from __future__ import annotations

import ast
import math
import operator
import re
import unicodedata
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, DivisionByZero, InvalidOperation, Overflow
from decimal import Context as Arithmetic
from typing import Any

_MAX_DIGITS = 4000
_MAX_DEPTH = 60
_EXACT = Arithmetic(prec=60, Emax=9999, Emin=-9999, traps=[InvalidOperation, DivisionByZero, Overflow])
_SIGNS = {"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**", "，": ",", "√": "sqrt", "π": "pi"}
# A number with % and nothing to divide by behind it; else % is the remainder.
_PER_CENT = re.compile(r"(\d+(?:\.\d+)?)\s*%(?=\s*(?:$|[)*/+,-]|of\b))")
_OF = re.compile(r"\bof\b")
_CONSTANTS = {"pi": Decimal("3.14159265358979323846264338327950288419716939937510"), "e": Decimal(1).exp(_EXACT)}


def calculate(*, expression: str) -> dict[str, Any]:
    """Return the value of an expression; ``exact`` is false when it was rounded or went through a function's floats.

    Raises ValueError for what is no arithmetic, is too large, or has no value such as 1/0.
    """
    text = "".join(_SIGNS.get(letter, letter) for letter in unicodedata.normalize("NFKC", expression)).strip()
    text = _PER_CENT.sub(r"(\1/100)", text)
    text = _OF.sub("*", text)
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{expression[:200]!r} is no arithmetic expression") from None
    walker = _Walker(text)
    try:
        value = walker.value(tree.body, 0)
    except (InvalidOperation, DivisionByZero, ZeroDivisionError):
        raise ValueError(
            "the expression has no value: a division by zero, or outside what a function takes"
        ) from None
    except (Overflow, OverflowError):
        raise ValueError("the number is too large") from None
    number, exact = _number(value)
    return {"value": number, "exact": exact and walker.exact}


class _Walker:
    """One evaluation; ``exact`` turns false as soon as a step rounds."""

    def __init__(self, text: str) -> None:
        self.exact = True
        self._text = text

    def value(self, node: ast.expr, depth: int) -> Decimal:
        if depth > _MAX_DEPTH:
            raise ValueError("the expression is nested too deep")
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.Name):
            if node.id not in _CONSTANTS:
                raise ValueError(f"{node.id!r} is no constant; known are pi and e")
            self.exact = False
            return _CONSTANTS[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
            inner = self.value(node.operand, depth + 1)
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            return self._operation(node, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            arguments = [self.value(argument, depth + 1) for argument in node.args]
            return self._call(node.func.id, arguments)
        raise ValueError("only numbers, + - * / // % **, parentheses and the named functions are understood")

    def _constant(self, node: ast.Constant) -> Decimal:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise ValueError(f"{node.value!r} is no number")  # noqa: TRY004 - the caller gave a text, of the right type
        written = (ast.get_source_segment(self._text, node) or str(node.value)).replace("_", "")
        if len(written) > _MAX_DIGITS:
            raise ValueError("a number has too many digits")
        try:
            number = Decimal(written)
        except InvalidOperation:  # 0x1F and its like
            number = Decimal(node.value)
        if abs(number.adjusted()) > _MAX_DIGITS:
            raise Overflow
        return number

    def _operation(self, node: ast.BinOp, depth: int) -> Decimal:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        work = _EXACT.copy()
        work.clear_flags()
        if isinstance(node.op, ast.Pow):
            result = self._power(left, right, work)
        elif isinstance(node.op, ast.FloorDiv):
            result = work.divide(left, right).to_integral_value(ROUND_FLOOR)
            work.clear_flags()
        elif isinstance(node.op, ast.Mod):
            result = work.remainder(left, right)
            if result and (result < 0) != (right < 0):  # as in Python, it has the sign of what is divided by
                result = work.add(result, right)
        else:
            apply = _OPERATIONS.get(type(node.op))
            if apply is None:
                raise ValueError("only + - * / // % ** are understood")
            result = apply(work, left, right)
        self.exact &= not work.flags[_inexact()]
        return result

    def _power(self, base: Decimal, exponent: Decimal, work: Arithmetic) -> Decimal:
        if abs(exponent) > 10_000:
            raise ValueError("the exponent is too large")
        if base == 0 and exponent < 0:
            raise DivisionByZero
        whole = base == base.to_integral_value() and exponent == exponent.to_integral_value() and exponent >= 0
        if whole and base and exponent * Decimal(max(base.adjusted(), 0) + 1) <= _MAX_DIGITS:
            return Decimal(int(base) ** int(exponent))
        return work.power(base, exponent)

    def _call(self, name: str, arguments: list[Decimal]) -> Decimal:
        if name in _FUNCTIONS:
            low, high, apply = _FUNCTIONS[name]
            self._count(name, arguments, low, high)
            return apply(*arguments)
        if name == "sqrt":
            self._count(name, arguments, 1, 1)
            work = _EXACT.copy()
            work.clear_flags()
            result = work.sqrt(arguments[0])
            self.exact &= not work.flags[_inexact()]
            return result
        if name in _FLOATS:
            self._count(name, arguments, 1, 2 if name == "log" else 1)
            self.exact = False
            try:
                return Decimal(repr(_FLOATS[name](*map(float, arguments))))
            except ValueError:
                raise ValueError(f"{name} has no value for {', '.join(map(str, arguments))}") from None
        raise ValueError(
            f"there is no function {name!r}; known are {', '.join(sorted({*_FUNCTIONS, *_FLOATS, 'sqrt'}))}"
        )

    @staticmethod
    def _count(name: str, arguments: list[Decimal], low: int, high: int) -> None:
        if not low <= len(arguments) <= high:
            raise ValueError(
                f"{name} takes {low} arguments" if low == high else f"{name} takes {low} to {high} arguments"
            )


def _inexact() -> Any:
    from decimal import Inexact

    return Inexact


def _whole(value: Decimal, name: str, most: int) -> int:
    if value != value.to_integral_value() or not 0 <= abs(value) <= most:
        raise ValueError(f"{name} takes whole numbers up to {most}")
    return int(value)


def _factorial(value: Decimal) -> Decimal:
    return Decimal(math.factorial(_whole(value, "factorial", 1000)))


def _rounded(value: Decimal, digits: Decimal = Decimal(0)) -> Decimal:
    places = _whole(digits, "round", 50)
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN, context=Arithmetic(prec=4200))


_OPERATIONS: dict[type[ast.operator], Callable[[Arithmetic, Decimal, Decimal], Decimal]] = {
    ast.Add: Arithmetic.add,
    ast.Sub: Arithmetic.subtract,
    ast.Mult: Arithmetic.multiply,
    ast.Div: Arithmetic.divide,
}
_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Decimal]]] = {
    "abs": (1, 1, operator.abs),
    "round": (1, 2, _rounded),
    "floor": (1, 1, lambda value: value.to_integral_value(ROUND_FLOOR)),
    "ceil": (1, 1, lambda value: value.to_integral_value(ROUND_CEILING)),
    "min": (1, 200, min),
    "max": (1, 200, max),
    "sum": (1, 200, lambda *values: sum(values, Decimal(0))),
    "factorial": (1, 1, _factorial),
    "gcd": (1, 200, lambda *values: Decimal(math.gcd(*(_whole(value, "gcd", 10**18) for value in values)))),
    "lcm": (1, 20, lambda *values: Decimal(math.lcm(*(_whole(value, "lcm", 10**9) for value in values)))),
    "comb": (2, 2, lambda n, k: Decimal(math.comb(_whole(n, "comb", 2000), _whole(k, "comb", 2000)))),
}
_FLOATS: dict[str, Callable[..., float]] = {
    "exp": math.exp, "log": math.log, "ln": math.log, "log10": math.log10, "log2": math.log2, "sin": math.sin,
    "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "radians": math.radians, "degrees": math.degrees,
}  # fmt: skip


def _number(value: Decimal) -> tuple[int | float | str, bool]:
    """Return a number as JSON has it: whole numbers in full, others as a float when that is the very number."""
    if value == value.to_integral_value() and value.adjusted() <= _MAX_DIGITS:
        whole = int(value)
        return (whole if abs(whole) < 2**53 else str(whole)), True
    number = float(value)
    if not math.isfinite(number):
        return str(value), True
    same = Decimal(repr(number)) == value
    return number, same
