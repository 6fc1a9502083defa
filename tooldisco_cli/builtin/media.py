"""Sound and film, by ffmpeg and espeak-ng."""

from __future__ import annotations

import json
import re
import wave
from pathlib import Path
from typing import Any

from tooldisco_cli.builtin import child, places
from tooldisco_cli.builtin.context import Context

MAX_OUTPUT_BYTES = 2_000_000_000
CONVERT_SECONDS = 580.0
# Only containers that hold their own data: a playlist (hls, concat, dash ...) would name other files or addresses.
_FORMATS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,flac,flv,gif,m4v,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,mpeg,mpegts,"
    "mpegvideo,ogg,opus,wav,w64"
)
_INPUT = ["-protocol_whitelist", "file", "-format_whitelist", _FORMATS]
_KINDS = {
    ".mp3": ["-vn", "-f", "mp3"],
    ".wav": ["-vn", "-f", "wav"],
    ".ogg": ["-vn", "-c:a", "libvorbis", "-f", "ogg"],
    ".opus": ["-vn", "-c:a", "libopus", "-f", "opus"],
    ".flac": ["-vn", "-f", "flac"],
    ".m4a": ["-vn", "-c:a", "aac", "-f", "ipod"],
    ".mp4": ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", "-movflags", "+faststart", "-f", "mp4"],
    ".webm": ["-c:v", "libvpx-vp9", "-row-mt", "1", "-c:a", "libopus", "-f", "webm"],
    ".mkv": ["-c:v", "libx264", "-c:a", "aac", "-f", "matroska"],
    ".gif": ["-an", "-vf", "fps=10,scale='min(480,iw)':-1", "-f", "gif"],
}


def get_media_info(*, path: str, context: Context) -> dict[str, Any]:
    """Return format, duration and streams of a file. Raises ValueError for what ffprobe cannot read."""
    place = places.existing_file(path, context)
    facts = _probed(place, path, context)
    container = facts.get("format", {})
    return {
        "format": container.get("format_name", ""),
        "seconds": _number(container.get("duration")),
        "size": place.stat().st_size,
        "bit_rate": _number(container.get("bit_rate")),
        "streams": [_stream(stream) for stream in facts.get("streams", [])[:50]],
    }


def convert_media(
    *,
    path: str,
    output: str,
    start_seconds: float = 0,
    duration_seconds: float | None = None,
    context: Context,
) -> dict[str, Any]:
    """Write a file in the format of the output's ending. Raises ValueError when ffmpeg fails, with its words."""
    place = places.existing_file(path, context)
    target = places.new_file(output, context)
    with places.staged(target) as draft:
        command = ["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-y", *_INPUT]
        command += ["-ss", str(start_seconds)] if start_seconds else []
        command += ["-i", f"file:{place}"]
        command += ["-t", str(duration_seconds)] if duration_seconds else []
        command += [
            "-fs",
            str(MAX_OUTPUT_BYTES),
            "-map_metadata",
            "-1",
            *_KINDS[target.suffix.lower()],
            f"file:{draft}",
        ]
        ended = child.run(command, environment=context.environment, seconds=CONVERT_SECONDS, max_output=100_000)
        if ended.stopped or ended.exit_code:
            raise ValueError(f"{path} cannot be converted: {_said(ended)}")
        facts = _probed(draft, output, context, own=True)
        size = draft.stat().st_size
    seconds = _number(facts.get("format", {}).get("duration"))
    return {"path": places.shown(target, context), "seconds": seconds, "size": size}


def text_to_speech(
    *, text: str, output: str, voice: str = "cmn", words_per_minute: int = 160, context: Context
) -> dict[str, Any]:
    """Write a spoken text as WAV. Raises ValueError for a voice that is not there."""
    target = places.new_file(output, context)
    with places.staged(target) as draft:
        ended = child.run(
            ["espeak-ng", "--stdin", "-b", "1", "-v", voice, "-s", str(words_per_minute), "-w", str(draft)],
            environment=context.environment,
            stdin=text.encode(),
            seconds=100,
            max_output=100_000,
        )
        size = draft.stat().st_size
        if ended.stopped or ended.exit_code or size <= 44:
            raise ValueError(f"espeak-ng cannot say that with the voice {voice!r}: {_said(ended)}")
        with wave.open(str(draft), "rb") as sound:
            seconds = (size - 44) / (sound.getframerate() * sound.getsampwidth() * sound.getnchannels())
    return {"path": places.shown(target, context), "seconds": round(seconds, 3), "size": size}


def _probed(place: Path, path: str, context: Context, *, own: bool = False) -> dict[str, Any]:
    allowed = ["-protocol_whitelist", "file"] if own else _INPUT
    ended = child.run(
        ["ffprobe", "-v", "error", *allowed, "-of", "json", "-show_format", "-show_streams", f"file:{place}"],
        environment=context.environment,
        seconds=25,
    )
    if ended.stopped or ended.exit_code:
        raise ValueError(f"{path} is no audio or video file that can be read: {_said(ended)}")
    facts: dict[str, Any] = json.loads(ended.stdout)
    return facts


def _stream(stream: dict[str, Any]) -> dict[str, Any]:
    facts = {
        "kind": stream.get("codec_type"),
        "codec": stream.get("codec_name"),
        "width": stream.get("width"),
        "height": stream.get("height"),
        "frame_rate": _ratio(stream.get("avg_frame_rate")),
        "sample_rate": _number(stream.get("sample_rate")),
        "channels": stream.get("channels"),
        "bit_rate": _number(stream.get("bit_rate")),
        "language": stream.get("tags", {}).get("language"),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _number(text: Any) -> int | float | None:
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else number


def _ratio(text: Any) -> float | None:
    top, _, bottom = str(text or "").partition("/")
    number, by = _number(top), _number(bottom)
    return round(number / by, 3) if number and by else None


def _said(ended: child.Ended) -> str:
    if ended.stopped:
        return f"it was stopped ({ended.stopped})"
    words = ended.stderr.decode("utf-8", "replace").strip()
    return re.sub(r"file:\S*/", "", words)[-500:] or f"exit code {ended.exit_code}"
