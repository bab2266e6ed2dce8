"""A client for Trackside, the control plane for teams of AI agents."""

from ._generated import *  # noqa: F403
from ._generated import Page, Routes
from ._transport import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Overloaded,
    Refused,
    Stale,
    Rejected,
    Unauthorized,
    Unreachable,
    each,
)


class Trackside(Routes):
    """A client of one server with one token. Threads may share it."""


__all__ = [
    "Conflict",
    "Forbidden",
    "Invalid",
    "NotFound",
    "Overloaded",
    "Page",
    "Refused",
    "Stale",
    "Trackside",
    "Rejected",
    "Unauthorized",
    "Unreachable",
    "each",
]
