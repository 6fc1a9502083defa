"""Text in images, by Tesseract."""

from __future__ import annotations

import io
from typing import Any

from tooldisco_cli.builtin import child, images
from tooldisco_cli.builtin.context import Context

SECONDS = 100.0


def read_image_text(*, path: str, languages: list[str] | None = None, context: Context) -> dict[str, Any]:
    """Return the text in an image. Raises ValueError for a language that is not installed.

    Tesseract gets the decoded image as a PNG, so it never meets a file that was not checked.
    """
    wanted = languages or ["eng"]
    with images.opened_image(path, context) as image:
        data = io.BytesIO()
        image.convert("RGB").save(data, "PNG", compress_level=1)
    environment = {**context.environment, "OMP_THREAD_LIMIT": "2"}
    listed = child.run(["tesseract", "--list-langs"], environment=environment, seconds=20)
    known = listed.stdout.decode("utf-8", "replace").split("\n")[1:]
    missing = [language for language in wanted if language not in known]
    if missing:
        raise ValueError(
            f"Tesseract lacks {', '.join(missing)}; installed are {', '.join(filter(None, known))}. "
            f"On Debian: apt install tesseract-ocr-{missing[0].replace('_', '-').lower()}"
        )
    ended = child.run(
        ["tesseract", "stdin", "stdout", "-l", "+".join(wanted)],
        environment=environment,
        stdin=data.getvalue(),
        seconds=SECONDS,
    )
    if ended.stopped or ended.exit_code:
        said = ended.stderr.decode("utf-8", "replace").strip()[-500:]
        raise RuntimeError(f"Tesseract {'was stopped: ' + ended.stopped if ended.stopped else 'failed: ' + said}")
    return {"text": ended.stdout.decode("utf-8", "replace").strip().replace("\f", "\n"), "languages": wanted}
