"""Regular expressions, tried in a child process, because a bad one can take for ever."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

from tooldisco_cli.builtin import child

SECONDS = 2.0
_MAX_REPLACED = 2_000_000

_WORK = r"""
import json, re, sys
task = json.load(sys.stdin)
flags = 0
for name in task["flags"]:
    flags |= getattr(re, name.upper())
pattern = re.compile(task["pattern"], flags)
matches, more = [], False
for match in pattern.finditer(task["text"]):
    if len(matches) == task["max_matches"]:
        more = True
        break
    matches.append({"text": match[0][:2000], "start": match.start(), "end": match.end(),
                    "groups": [g if g is None else g[:2000] for g in match.groups()],
                    "named": {k: v if v is None else v[:2000] for k, v in match.groupdict().items()}})
answer = {"matches": matches, "match_count": len(matches), "more": more}
if task["replacement"] is not None:
    text, count = pattern.subn(task["replacement"], task["text"])
    answer |= {"replaced": text[:task["limit"]], "replacements": count}
json.dump(answer, sys.stdout)
"""


def test_regex(
    *,
    pattern: str,
    text: str,
    flags: list[str] | None = None,
    replacement: str | None = None,
    max_matches: int = 100,
) -> dict[str, Any]:
    """Return the matches of a pattern, and the text after replacing them when ``replacement`` is given.

    Raises ValueError for a pattern or replacement that is wrong, and TimeoutError for one that takes too long.
    """
    options = re.NOFLAG
    for name in flags or []:
        options |= getattr(re, name.upper())
    try:
        re.compile(pattern, options)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"the pattern is wrong: {error}") from None
    task = {
        "pattern": pattern,
        "text": text,
        "flags": flags or [],
        "replacement": replacement,
        "max_matches": max_matches,
        "limit": _MAX_REPLACED,
    }
    ended = child.run(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", _WORK],
        environment=os.environ,
        stdin=json.dumps(task).encode(),
        seconds=SECONDS,
        max_output=50_000_000,
    )
    if ended.stopped:
        raise TimeoutError(f"the pattern took more than {SECONDS:g} seconds on this text (catastrophic backtracking)")
    if ended.exit_code:
        last = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ValueError(f"it cannot be done: {last[:500]}")
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer
