"""How tests run the real command, and what they get back."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

COMMAND = [sys.executable, "-c", "from tooldisco_cli.cli import main; main()"]

SHOP = """
manifest = 1

[[tool]]
name = "refund_order"
title = "Refund order 订单退款"
description = "Pay the money of one order back to the customer. 把一笔订单的钱退还给客户，可全额退款，也可部分退款。"
category = "shop"
tags = ["refund", "退款"]
command.argv = ["refund", "{order}"]
[tool.input_schema]
type = "object"
required = ["order"]
properties.order = { type = "string", description = "订单号，在订单页的右上角" }
[[tool.examples]]
input = { order = "A-1" }
result = { refunded = true }

[[tool]]
name = "refund_order"
version = "0.9"
description = "The old way to refund."
category = "shop"
command.argv = ["refund-old"]

[[tool]]
name = "a_tool_whose_name_is_as_long_as_the_format_allows_a_name_to_be_x"
title = "一个名字和标题都很长的工具，用来看看窄终端里的表格会不会散架，标点会不会跑到行首"
description = "它什么也不做。It does nothing at all."
category = "a category with spaces that is long"
annotations = { read_only = true }
command.argv = ["true"]
"""
"""A small catalog beside the shipped one: Chinese, two versions, texts too long for their columns."""


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def schema_of(name: str) -> dict[str, Any]:
    """Return a JSON Schema that the package ships, such as ``search-1``."""
    return json.loads(files("tooldisco_cli").joinpath(f"render/schemas/{name}.json").read_text("utf-8"))
