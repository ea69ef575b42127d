"""Keep settings across a reboot: the files for that are journaled and undone like any change."""

from collections.abc import Sequence

from .. import settings
from ..host.source import Source
from ..settings import Host, kept
from ..terms.errors import sentence
from . import Change, Result
from .apply import Terms, apply
from .journal import Journal
from .plan import forecast, refused


def wanted(setting: str, value: str) -> tuple[str, str]:
    """The `kept.…` setting that keeps this one, and its value; ValueError if it cannot be kept."""
    address = settings.parse(setting)
    value = settings.normal(address, value)
    keep = settings.keep(address, value)
    if keep is None:
        raise ValueError(f"{setting} cannot be kept: its target does not survive a reboot")
    if keep.where == "sysctl":
        return f"kept.sysctl@{keep.key}", keep.value
    if keep.where == "link":
        return f"kept.link@{address.nic}/{keep.key}", keep.value
    return f"kept.unit@{setting}", value


def preview(pairs: Sequence[tuple[str, str]], source: Source) -> dict[str, str]:
    """The files that would be written: text by path, without settings that cannot be kept."""
    files: dict[str, dict[str, str]] = {}
    where: dict[str, settings.Address] = {}
    for setting, value in pairs:
        try:
            text, line = wanted(setting, value)
        except ValueError:
            continue
        address = settings.parse(text)
        path = kept.path(address)
        where[path] = address
        known = files.setdefault(path, kept.entries(source, address))
        known[address.part if address.name == "link" else address.target] = line
    return {path: kept.render(source, where[path], known) for path, known in files.items()}


def doubts(pairs: Sequence[tuple[str, str]], source: Source) -> tuple[str, ...]:
    """Why some of these settings cannot be kept on this host, without repetition."""
    reasons = []
    for setting, value in pairs:
        try:
            text, line = wanted(setting, value)
            settings.check(source, settings.parse(text), line)
        except (OSError, ValueError, LookupError) as error:
            reasons.append(sentence(error))
    return tuple(dict.fromkeys(reasons))


def forecasts(pairs: Sequence[tuple[str, str]], source: Source) -> tuple[Result, ...]:
    """What `keep` would do: planned, unchanged or refused for each setting."""
    results = []
    for setting, value in pairs:
        try:
            text, line = wanted(setting, value)
            before = settings.read(source, settings.parse(text))
        except (OSError, ValueError, LookupError) as error:
            results.append(refused(Change(setting, value, value), sentence(error)))
            continue
        results.append(forecast(Change(text, before, line), source))
    return tuple(results)


def keep(
    pairs: Sequence[tuple[str, str]], host: Host, journal: Journal, finding: str = ""
) -> tuple[Result, ...]:
    """Write the files; first the results of settings that are kept already or cannot be kept."""
    expected = forecasts(pairs, host.source)
    others = [result for result in expected if result.state != "planned"]
    changes = [
        Change(result.setting, result.before, result.wanted)
        for result in expected
        if result.state == "planned"
    ]
    applied = apply(changes, host, journal, Terms(finding, confirm=0)) if changes else ()
    return (*others, *applied)
