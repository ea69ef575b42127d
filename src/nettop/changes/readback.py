"""After a write: wait for the link, and read what really is."""

from __future__ import annotations

import time

from .. import settings
from ..settings import Address, Host

CARRIER = 10.0  # seconds a link may take to come back: e1000e needs about 3, optics up to 5
_PAUSE = 0.1


def carrier(host: Host, address: Address) -> bool:
    """Whether the target's interface has its link."""
    if not getattr(settings.kind(address.kind), "NIC", False):
        return False
    try:
        return host.source.text(f"/sys/class/net/{address.nic}/carrier").strip() == "1"
    except OSError:
        return False


def settle(host: Host, address: Address, *, had_carrier: bool, seconds: float = CARRIER) -> None:
    """Return once a link that was there is there again, or when `seconds` are over.

    A reset may take the link down a moment after the write was acknowledged, so the link is asked
    twice for settings that are known to do so.
    """
    if not had_carrier:
        return
    if settings.risk(address) == "link" and host.real:
        time.sleep(_PAUSE)
    end = time.monotonic() + seconds
    while not carrier(host, address) and time.monotonic() < end:
        time.sleep(_PAUSE)


def look(host: Host, address: Address) -> str | None:
    """The value now; None when it cannot be read."""
    try:
        return settings.read(host.source, address)
    except (OSError, ValueError, LookupError):
        return None


def read_side_effects(host: Host, names: tuple[str, ...]) -> dict[str, str | None]:
    """The values of the settings that may move along."""
    return {name: look(host, settings.parse(name)) for name in names}
