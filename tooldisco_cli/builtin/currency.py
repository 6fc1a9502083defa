"""Amounts of money in other currencies, by the European Central Bank's reference rates.

They come from Frankfurter (https://frankfurter.dev/v1/), which publishes rates and leaves the arithmetic to its
callers; ``FRANKFURTER_URL`` names an instance of one's own.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from tooldisco_cli.builtin import web
from tooldisco_cli.builtin.context import Context

PUBLIC_INSTANCE = "https://api.frankfurter.dev/v1"


def convert_currency(*, amount: float, from_: str, to: str, date: str = "latest", context: Context) -> dict[str, Any]:
    """Return an amount in other currencies, with the rates and their day.

    Raises ValueError for a currency or day that is not known, ConnectionError when no rates can be had.
    """
    wanted = list(dict.fromkeys(to.split(",")))
    others = [code for code in wanted if code != from_]
    own = context.environment.get("FRANKFURTER_URL", "").strip().rstrip("/")
    rates: dict[str, Decimal] = {from_: Decimal(1)}
    day = ""
    if others:
        answer = web.request(
            "GET",
            f"{own or PUBLIC_INSTANCE}/{quote(date, safe='')}?base={from_}&symbols={','.join(others)}",
            headers={"Accept": "application/json"},
            # An instance that the user set may well be in the user's own network.
            allow_private=bool(own) or context.allow_private_addresses,
            seconds=15,
            follow=True,
        )
        if answer.status in {400, 404, 422}:
            raise ValueError(f"there is no rate of {from_} for {', '.join(others)} on {date}")
        try:
            said = json.loads(answer.body, parse_float=Decimal, parse_int=Decimal)
            rates |= said["rates"]
            day = str(said["date"])
        except (ValueError, KeyError, TypeError):
            raise ConnectionError(f"the rates cannot be had: the service answered {answer.status}") from None
    missing = [code for code in wanted if code not in rates]
    if missing:
        raise ValueError(f"there is no rate of {from_} for {', '.join(missing)}")
    money = Decimal(repr(amount))
    return {
        "amounts": {code: float(money * rates[code]) for code in wanted},
        "rates": {code: float(rates[code]) for code in wanted},
        "date": day,
    }
