"""The changes that lead to the wanted values, and after a write the value that the host really has.

It reads the host and never writes.
"""

import errno
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .. import settings
from ..host.source import Source
from ..settings import Address, Host
from ..terms.errors import absent, sentence
from . import Change, Result, data


def plan(wanted: Iterable[tuple[str, str]], source: Source) -> tuple[Change, ...]:
    """The changes that are needed, in the order in which they must be written.

    Settings that have the value already are left out; of several values for one setting the last
    counts. UnknownError for an unknown name, ValueError for a value beyond the limits, OSError if
    the host does not have the setting.
    """
    values: dict[str, tuple[settings.Address, str]] = {}
    for text, value in wanted:
        address = settings.parse(text)
        values[str(address)] = (address, settings.normal(address, value))
    needed: list[tuple[int, Change]] = []
    for address, value in values.values():
        before = settings.read(source, address)
        if before != value:
            value = settings.check(source, address, value)  # noqa: PLW2901
            rank = settings.rank(address, value)
            needed.append((rank, Change(str(address), before, value)))
    return tuple(change for _rank, change in sorted(needed, key=lambda pair: pair[0]))


def forecast(change: Change, source: Source) -> Result:
    """What `apply` decides before it writes: planned, unchanged, or refused with the reason."""
    address = change.address
    try:
        now = settings.read(source, address)
        value = settings.normal(address, change.after)
        if now != value:
            value = settings.check(source, address, value)
        shell = settings.shell(address, value, source)
        identity = settings.identity(source, address) if change.identity else ""
    except (OSError, ValueError, LookupError) as error:
        return refused(change, sentence(error))
    if not settings.same(change.identity, identity):
        which = settings.device(address) or address.target
        because = f"{which} is no longer the one that was shown"
        return refused(change, because, shell=shell)
    if now == value:  # often the side effect of a previous change
        return Result(change.setting, now, value, "unchanged", after=now, shell=shell)
    if now != change.before:
        because = f"the host no longer shows {change.before!r} but {now!r}"
        return refused(change, because, shell=shell)
    return Result(str(address), now, value, "planned", after=value, shell=shell)


def unfit(wanted: Iterable[tuple[str, str]], source: Source) -> tuple[Result, ...]:
    """The results of a plan with an invalid value: that value and why, the rest not tried."""
    results = []
    for setting, value in wanted:
        try:
            before = settings.read(source, settings.parse(setting))
        except (OSError, ValueError, LookupError):
            before = value  # the forecast says why it cannot be read
        result = forecast(Change(setting, before, value), source)
        if result.state == "planned":
            why = "not tried: another of these is refused"
            result = replace(result, state="refused", after=None, because=why)
        results.append(result)
    return tuple(results)


def refused(
    change: Change, because: str, number: int | None = None, shell: str = "",
    after: str | None = None,
) -> Result:  # fmt: skip
    """The result of a change that was not made, with the reason."""
    return Result(
        change.setting, change.before, change.after, "refused", number, after, shell, because
    )


def describe(
    setting: str, value: str, source: Source, *, experiment: bool = False
) -> dict[str, Any]:
    """One wanted value with the current one, and how it is set: `step` in schema.json.

    An error is in `because`, and the value before is then None.
    """
    document: dict[str, Any] = {
        "setting": setting, "before": None, "after": data(setting, value), "risk": "none",
        "shell": "", "how": "prove" if experiment else "apply",
    }  # fmt: skip
    try:
        address = settings.parse(setting)
        document["risk"] = settings.risk(address)
        value = settings.normal(address, value)
        document["after"] = settings.data(address, value)
        document["shell"] = settings.shell(address, value, source)
        before = settings.read(source, address)
        document["before"] = settings.data(address, before)
        if before != value:
            settings.check(source, address, value)
    except (OSError, ValueError, LookupError) as error:
        document["because"] = sentence(error)
    if "because" in document:
        document["how"] = "by-hand"
    return document


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
