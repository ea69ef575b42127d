"""The findings as a plugin of Nagios, Icinga, Naemon or Sensu reports them.

One line of text with performance data after `|`, then more lines: Monitoring Plugins Development
Guidelines, "Plugin Output for Nagios", and the plugin API of Nagios Core. The exit code is the
state: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ..advice.rules.severity import SEVERITIES
from ..terms.units import many
from . import print_lines

if TYPE_CHECKING:  # each refused command line asks `wanted`
    from ..advice.rules.rule import Finding
    from ..frame.rates import Frame
    from ._baseline import Since

STATES: Final = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
FEW: Final = 3  # findings in the first line
LINE: Final = 1024  # bytes of the text in the first line
MOST: Final = 4096  # bytes of all lines; Nagios Core reads 8192, older agents less
UNKNOWN: Final = 3
_MEANT: Final = ("nagios", "icinga", "naemon", "sensu")  # they read the same format


def wanted(words: Sequence[str]) -> bool:
    """Whether a command line asks for this format, valid or not, or for a misspelt name of it.

    A monitoring system takes exit code 2 for CRITICAL, also where a usage error is meant.
    """
    asked = [value for option, value in pairwise(words) if option == "--format"]
    asked += [word.partition("=")[2] for word in words if word.startswith("--format=")]
    return any(get_close_matches(name.strip().casefold(), _MEANT, n=1) for name in asked)


def unknown(message: str) -> int:
    """Print one line about a refusal or failure; returns the state UNKNOWN."""
    print_lines(f"NETTOP UNKNOWN - {_cut(_plain(message))}")
    return UNKNOWN


def report(
    findings: Sequence[Finding],
    level: int,
    frame: Frame,
    lacking: str | None,
    seconds: float,
    since: Since | None,
) -> int:
    """Print the report; the state, raised by findings up to the severity `level` (an index)."""
    from ..views.enough import not_looked_at

    alarming = [one for one in findings if SEVERITIES.index(one.severity) <= level]
    state = 0
    if alarming:
        state = 2 if any(one.severity == "critical" for one in alarming) else 1
    elif lacking is not None:
        state = UNKNOWN
    text = (
        _summary(findings, frame, since) if state != UNKNOWN else f"not enough to judge: {lacking}"
    )
    first = f"NETTOP {STATES[state]} - {_cut(_plain(text))} | {_data(findings, level, seconds)}"
    more = [*_more(findings, since)]
    if state or findings:  # else the first line names them
        more += not_looked_at(frame)
    print_lines(*_fitting([first, *map(_plain, more)]))
    return state


def _summary(findings: Sequence[Finding], frame: Frame, since: Since | None) -> str:
    new = "" if since is None else f" new since {since.baseline.when}"
    if not findings:
        from ..views.enough import all_clear

        clear = all_clear(frame).removesuffix(".")
        return f"nothing{new}" if new else clear[0].lower() + clear[1:]
    counts = [(sum(one.severity == name for one in findings), name) for name in SEVERITIES]
    total = ", ".join(f"{count} {name}" for count, name in counts if count)
    few = "; ".join(f"{one.id}: {one.title}" for one in findings[:FEW])
    return f"{total}{new}: {few}" + (" …" if len(findings) > FEW else "")


def _more(findings: Sequence[Finding], since: Since | None) -> Iterator[str]:
    for one in findings:
        yield f"{one.severity} {one.id}: {one.title}"
        yield from (f"  set {wanted.setting} to {wanted.value}" for wanted in one.wanted)
    if since is not None:
        yield from (f"gone: {one.id}: {one.title}" for one in since.gone)
        yield from since.remarks


def _data(findings: Sequence[Finding], level: int, seconds: float) -> str:
    """`label=value;warning;critical;minimum`: one that is above 0 raises the state."""
    parts = []
    for index, name in enumerate(SEVERITIES):
        count = sum(one.severity == name for one in findings)
        limits = ";;" if index > level else ";;0" if name == "critical" else ";0;"
        parts.append(f"{name}={count}{limits};0")
    return " ".join([*parts, f"time={seconds:g}s"])


def _plain(text: str) -> str:
    """The text without `|`, which begins performance data, and without line breaks."""
    return " ".join(text.replace("|", "¦").split())


def _cut(text: str) -> str:
    """The text, shorter if it has more than `LINE` bytes."""
    data = text.encode()
    return text if len(data) <= LINE else data[:LINE].decode("utf-8", "ignore") + " …"


def _fitting(lines: Sequence[str]) -> list[str]:
    """As many lines as fit, and how many are left out."""
    out, room = [lines[0]], MOST - len(lines[0].encode())
    for number, text in enumerate(lines[1:], 1):
        room -= len(text.encode()) + 1
        if room < len("… and 100000 lines more"):
            return [*out, f"… and {many(len(lines) - number, 'lines')} more"]
        out.append(text)
    return out
