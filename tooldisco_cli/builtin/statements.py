"""What kind of SQL statement a text is: a second lock beside the server's own read-only transaction.

The transaction keeps a query from changing tables. It does not keep an account with wide rights from statements that
are no table changes: ``GRANT``, ``KILL``, ``COPY ... TO PROGRAM``, ``SELECT ... INTO OUTFILE``. So only statements
that begin with a word for reading are sent at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_SKIPPED = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|\#[^\n]*(?:\n|$)|/\*(?![!M]).*?\*/|\()+", re.DOTALL)
_SQL_STANDARD_SKIPPED = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/|\()+", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_INTO_FILE = re.compile(r"\binto\s+(?:outfile|dumpfile)\b", re.IGNORECASE)
# Texts and comments in one pass, so that neither is taken for the other; a backslash in a text may or may not escape,
# as the server's sql_mode says. What an executable comment holds stays.
_HIDDEN = r"--[ \t][^\n]*|\#[^\n]*|/\*(?![!M]).*?\*/|/\*M?!\d*|\*/|`[^`]*`"
_LEXERS = (
    re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|" + _HIDDEN, re.DOTALL),
    re.compile(r"'[^']*'|\"[^\"]*\"|" + _HIDDEN, re.DOTALL),
)


def first_word(sql: str, *, mysql: bool = False) -> str:
    """Return the first word of a statement in capitals, past comments and opening parentheses; empty for none.

    MySQL's executable comments (``/*! ... */``) are no comments, so what they hold is never passed over.
    """
    skipped = (_SKIPPED if mysql else _SQL_STANDARD_SKIPPED).match(sql)
    word = _WORD.match(sql, skipped.end() if skipped else 0)
    return word[0].upper() if word else ""


def require_reading(sql: str, words: Collection[str], *, mysql: bool = False) -> None:
    """Raise ValueError for a statement that does not begin with one of ``words``, or writes a file on the server."""
    word = first_word(sql, mysql=mysql)
    if word not in words:
        raise ValueError(f"only {', '.join(sorted(words))} are allowed here, not {word or 'this statement'}")
    if mysql and any(_INTO_FILE.search(lexer.sub(" ", sql)) for lexer in _LEXERS):
        raise ValueError("INTO OUTFILE and INTO DUMPFILE write files on the server and are refused")
