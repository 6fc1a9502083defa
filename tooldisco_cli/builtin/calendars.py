"""iCalendar files (RFC 5545)."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any
from zoneinfo import ZoneInfo

from tooldisco_cli.builtin import places
from tooldisco_cli.builtin.context import Context


def create_calendar_invite(
    *,
    path: str,
    title: str,
    start: str,
    duration_minutes: int = 60,
    zone: str = "UTC",
    location: str | None = None,
    description: str | None = None,
    organizer: str | None = None,
    attendees: list[str] | None = None,
    remind_minutes: int | None = None,
    context: Context,
) -> dict[str, Any]:
    """Write a new file with one event, its times in UTC, which every program reads alike.

    Raises ValueError for a zone or time that does not exist, such as the hour that summer time leaves out.
    """
    begin = _instant(start, zone)
    end = begin + dt.timedelta(minutes=duration_minutes)
    uid = str(uuid.uuid4())
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//tooldisco//create_calendar_invite//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:" + ("REQUEST" if attendees else "PUBLISH"),
        "BEGIN:VEVENT",
        f"UID:{uid}",
        f"DTSTAMP:{_stamp(dt.datetime.now(dt.UTC))}",
        f"DTSTART:{_stamp(begin)}",
        f"DTEND:{_stamp(end)}",
        f"SUMMARY:{_text(title)}",
    ]
    if location:
        lines.append(f"LOCATION:{_text(location)}")
    if description:
        lines.append(f"DESCRIPTION:{_text(description)}")
    if organizer:
        lines.append(f"ORGANIZER:mailto:{_address(organizer)}")
    lines += [
        f"ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:{_address(attendee)}"
        for attendee in attendees or []
    ]
    if remind_minutes is not None:
        lines += [
            "BEGIN:VALARM",
            "ACTION:DISPLAY",
            f"DESCRIPTION:{_text(title)}",
            f"TRIGGER:-PT{remind_minutes}M",
            "END:VALARM",
        ]
    lines += ["END:VEVENT", "END:VCALENDAR"]
    place = places.write_new(path, "".join(map(_folded, lines)).encode(), context)
    return {
        "path": places.shown(place, context),
        "start": begin.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "end": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "uid": uid,
    }


def _instant(start: str, zone: str) -> dt.datetime:
    try:
        local = dt.datetime.fromisoformat(start)
        place = ZoneInfo(zone)
    except (ValueError, KeyError, OSError) as error:
        raise ValueError(f"{start} in {zone} is no time: {error}") from None
    instant = local.replace(tzinfo=place).astimezone(dt.UTC)
    if instant.astimezone(place).replace(tzinfo=None) != local:
        raise ValueError(f"{start} does not exist in {zone}: clocks are put forward over it")
    return instant


def _stamp(instant: dt.datetime) -> str:
    return instant.strftime("%Y%m%dT%H%M%SZ")


def _text(text: str) -> str:
    """Return a text escaped by RFC 5545, 3.3.11, without control characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(letter for letter in lines if letter in "\n\t" or ord(letter) >= 32)
    return kept.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def _address(address: str) -> str:
    if any(ord(letter) <= 32 or letter in '";:,<>' for letter in address):
        raise ValueError(f"{address!r} is no e-mail address")
    return address


def _folded(line: str) -> str:
    """Return a content line with CRLF, folded to 75 octets without breaking a character (RFC 5545, 3.1)."""
    pieces, piece, size = [], "", 0
    for letter in line:
        width = len(letter.encode())
        if size + width > 75:
            pieces.append(piece)
            piece, size = " ", 1
        piece += letter
        size += width
    return "\r\n".join([*pieces, piece]) + "\r\n"
