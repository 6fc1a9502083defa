"""Image files: facts, sizes, formats. Only formats that Pillow decodes itself, and only so many pixels."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tooldisco_cli.builtin import places
from tooldisco_cli.builtin.context import Context

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES = 100_000_000
MAX_PIXELS = 50_000_000
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
_BY_ENDING = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".gif": "GIF", ".bmp": "BMP", ".tif": "TIFF",
    ".tiff": "TIFF",
}  # fmt: skip
_OPAQUE = {"JPEG", "BMP"}


def get_image_info(*, path: str, context: Context) -> dict[str, Any]:
    """Return format, size, mode, frames and EXIF data of an image; the pixels are not decoded."""
    from PIL import ExifTags

    with places.open_file(path, context, max_bytes=MAX_BYTES) as file:
        image = _opened(file, path)
        size = file.seek(0, io.SEEK_END)
        try:
            exif = {ExifTags.TAGS.get(tag, str(tag)): _plain(value) for tag, value in image.getexif().items()}
        except Exception:  # damaged EXIF data is no reason to tell nothing of the image
            exif = {}
        return {
            "format": image.format,
            "width": image.width,
            "height": image.height,
            "mode": image.mode,
            "frames": getattr(image, "n_frames", 1),
            "size": size,
            "exif": exif,
        }


def resize_image(
    *, path: str, output: str, width: int | None = None, height: int | None = None, context: Context
) -> dict[str, Any]:
    """Write a copy with another size, in proportion unless both are given."""
    from PIL import Image

    with opened_image(path, context) as image:
        wide = width or max(1, round(image.width * (height or 1) / image.height))
        high = height or max(1, round(image.height * (width or 1) / image.width))
        if wide * high > MAX_PIXELS:
            raise ValueError(f"{wide} x {high} are more than {MAX_PIXELS:,} pixels")
        scaled = _true_colour(image).resize((wide, high), Image.Resampling.LANCZOS)
        return _saved(scaled, output, context)


def convert_image(*, path: str, output: str, quality: int = 85, context: Context) -> dict[str, Any]:
    """Write a copy in the format of the output's ending; of several frames only the first."""
    with opened_image(path, context) as image:
        return _saved(image, output, context, quality=quality)


def make_thumbnail(*, path: str, output: str, pixels: int = 256, context: Context) -> dict[str, Any]:
    """Write a copy that fits a square, upright by its EXIF data; never larger than the original."""
    from PIL import Image, ImageOps

    with opened_image(path, context) as image:
        small = _true_colour(ImageOps.exif_transpose(image))
        small.thumbnail((pixels, pixels), Image.Resampling.LANCZOS)
        return _saved(small, output, context)


@contextmanager
def opened_image(path: str, context: Context) -> Iterator[Image]:
    """Give an image with its pixels decoded. Raises ValueError for no image, a damaged one, or too many pixels."""
    with places.open_file(path, context, max_bytes=MAX_BYTES) as file:
        image = _opened(file, path)
        if image.width * image.height > MAX_PIXELS:
            raise ValueError(
                f"{path} has {image.width} x {image.height} pixels; more than {MAX_PIXELS:,} are refused, as they "
                "unpack to gigabytes (a decompression bomb)"
            )
        try:
            image.load()
        except Exception as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        yield image


def _opened(file: Any, path: str) -> Image:
    from PIL import Image

    with warnings.catch_warnings():
        # Pillow warns of many pixels, and refuses very many; the limit here is stricter.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            return Image.open(file, formats=_FORMATS)
        except Image.DecompressionBombError as error:
            raise ValueError(f"{path} is refused: {error}") from None
        except (OSError, SyntaxError, ValueError) as error:
            raise ValueError(f"{path} is no image of {', '.join(_FORMATS)}: {error}") from None


def _true_colour(image: Image) -> Image:
    """Return an image whose pixels can be blended: palettes and bits become colours."""
    if image.mode in {"RGB", "RGBA", "L", "LA", "I", "F"}:
        return image
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image.convert("L" if image.mode == "1" else "RGBA" if image.mode == "PA" else "RGB")


def _saved(image: Image, output: str, context: Context, *, quality: int = 85) -> dict[str, Any]:
    from PIL import Image as Images

    format_ = _BY_ENDING[PurePath(output).suffix.lower()]
    image = _true_colour(image)
    if format_ in _OPAQUE and image.mode in {"RGBA", "LA"}:
        ground = Images.new("RGB", image.size, "white")
        ground.paste(image.convert("RGB"), mask=image.getchannel("A"))
        image = ground
    if format_ in {"JPEG", "WEBP", "BMP"} and image.mode in {"I", "F"}:
        image = image.convert("L")
    if format_ == "WEBP" and image.mode in {"L", "LA"}:
        image = image.convert("RGBA" if image.mode == "LA" else "RGB")
    image = image.copy()
    image.info = {}  # EXIF data, comments and the like stay behind
    data = io.BytesIO()
    options = {"quality": quality} if format_ in {"JPEG", "WEBP"} else {}
    image.save(data, format_, **options)
    place = places.write_new(output, data.getvalue(), context)
    return {
        "path": places.shown(place, context),
        "width": image.width,
        "height": image.height,
        "format": format_,
        "size": len(data.getvalue()),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value[:200].decode("ascii", "replace").strip("\0 ")
    if isinstance(value, tuple):
        return [_plain(item) for item in value[:50]]
    if isinstance(value, bool | int | str):
        return value[:500] if isinstance(value, str) else value
    try:
        return round(float(value), 6)
    except (TypeError, ValueError, ZeroDivisionError):
        return str(value)[:200]
