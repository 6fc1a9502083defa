"""Fixtures that several modules here share."""

from http_site import site  # noqa: F401
from talking import box, calls, talk  # noqa: F401
