"""QR codes, made and read."""

from __future__ import annotations

import io
from pathlib import PurePath
from typing import Any

from tooldisco_cli.builtin import images, places
from tooldisco_cli.builtin.context import Context


def make_qr_code(
    *, text: str, output: str, scale: int = 8, error_correction: str = "M", context: Context
) -> dict[str, Any]:
    """Write a QR code as PNG or SVG. Raises ValueError for a text that does not fit."""
    import segno

    try:
        code = segno.make_qr(text, error=error_correction, boost_error=False)
    except segno.DataOverflowError as error:
        raise ValueError(f"the text is too long for a QR code with {error_correction}: {error}") from None
    data = io.BytesIO()
    code.save(data, kind=PurePath(output).suffix[1:].lower(), scale=scale)
    place = places.write_new(output, data.getvalue(), context)
    return {
        "path": places.shown(place, context),
        "version": str(code.version),
        "error_correction": str(code.error),
        "size": len(data.getvalue()),
    }


def read_qr_code(*, path: str, context: Context) -> dict[str, Any]:
    """Return what the QR codes and barcodes in an image say; an empty list when there is none."""
    import zxingcpp

    with images.opened_image(path, context) as image:
        found = zxingcpp.read_barcodes(image.convert("L"))
    return {"codes": [{"format": str(code.format), "text": code.text} for code in found[:100]]}
