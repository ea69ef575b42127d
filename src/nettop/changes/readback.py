"""After a write: wait for the link, and read the value that the host really has."""

from __future__ import annotations

import errno
import time

from .. import settings
from ..settings import Address, Host
from ..terms.errors import absent

CARRIER = 10.0  # seconds to wait for a link: e1000e needs about 3, optics up to 5
_PAUSE = 0.1


def carrier(host: Host, address: Address) -> bool:
    """Whether the interface of the target has a link."""
    nic = settings.device(address)
    try:
        return bool(nic) and host.source.text(f"/sys/class/net/{nic}/carrier").strip() == "1"
    except OSError:
        return False


def settle(host: Host, address: Address, *, had_carrier: bool, seconds: float = CARRIER) -> None:
    """Wait until a link that existed before is up again, at most `seconds`.

    A reset may take the link down shortly after the write returned, so for settings with that risk
    the first check is delayed.
    """
    if not had_carrier:
        return
    if settings.risk(address) == "link" and host.real:
        time.sleep(_PAUSE)
    end = time.monotonic() + seconds
    while not carrier(host, address) and time.monotonic() < end:
        time.sleep(_PAUSE)


def look(host: Host, address: Address) -> str | None:
    """The current value; None if there is none, or if it cannot be read."""
    try:
        return current(host, address)
    except OSError:
        return None


def current(host: Host, address: Address) -> str | None:
    """The current value; None if there is none. OSError if it cannot be read."""
    try:
        return settings.read(host.source, address)
    except (ValueError, LookupError):
        return None
    except OSError as error:
        if not (absent(error) or error.errno == errno.EOPNOTSUPP):
            raise
        return None


def read_side_effects(host: Host, names: tuple[str, ...]) -> dict[str, str | None]:
    """The current values of these settings; None if one cannot be read."""
    return {name: look(host, settings.parse(name)) for name in names}
