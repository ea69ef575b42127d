"""The options of a reader, for type checkers: this module is not sent."""

from typing import TypedDict


class Options(TypedDict):
    """Bounds in bytes, names or statistics; `idle`: seconds without a request."""

    token: str
    first: str  # base64 of the first batch
    idle: float
    file: int
    interrupts: int
    names: int
    netlink: int
    statistics: int
