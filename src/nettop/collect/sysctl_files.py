"""Kernel parameters set at boot: /etc/sysctl.conf and sysctl.d.

sysctl.d(5): files of the same name mask each other in the order of the folders, all are applied in
the order of their names, and a later line for a key wins. /etc/sysctl.conf is applied last, as
`sysctl --system` does (systemd reads it only where a link in sysctl.d leads to it).
"""

import operator
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final

from .. import config
from ..frame.fields import gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=60.0, absent=True)

_FOLDERS: Final = (
    "/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d",
    "/lib/sysctl.d",
)  # fmt: skip
_LAST: Final = "/etc/sysctl.conf"
_SWAP: Final = str.maketrans("./", "/.")


@dataclass(frozen=True, slots=True)
class Row:
    """One `key = value` line, in the order in which lines are applied."""

    file: str = label("file")
    line: int = label("line number")
    key: str = gauge("parameter, written as sysctl(8) does")
    value: str = gauge("value; runs of white space are single spaces")
    wins: bool = gauge("effective: no later line sets the same parameter", default=True)
    harmful: bool = gauge("listed as harmful in rules/legacy-sysctls.toml", default=False)


def read(source: Source) -> list[Row]:
    """Every line; OSError only if /etc cannot be listed."""
    source.listing("/etc")
    rows: list[Row] = []
    for path in files(source):
        with suppress(OSError):  # a dangling link, a file for root only
            rows += parse(source.text(path), path)
    last = {row.key: index for index, row in enumerate(rows)}
    return [
        row if last[row.key] == index else replace(row, wins=False)
        for index, row in enumerate(rows)
    ]


def files(source: Source) -> list[str]:
    """The files in the order in which they are applied; a file with two paths appears once."""
    found: dict[str, str] = {}
    for folder in _FOLDERS:
        for name in _sysfs.names(source, folder):
            if name.endswith(".conf"):
                found.setdefault(name, f"{folder}/{name}")
    ordered = [found[name] for name in sorted(found)]
    linked = any(
        (_sysfs.target(source, path) or "") == "sysctl.conf"
        for path in ordered
        if path.startswith("/etc/")
    )
    return ordered if linked else [*ordered, _LAST]


def parse(text: str, file: str) -> list[Row]:
    """The settings of one file, without comments and lines that have no value."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        key, equals, value = plain.partition("=")
        if not equals or plain.startswith(("#", ";")):
            continue
        known, text = name(key.strip().lstrip("-").strip()), " ".join(value.split())
        harmful = first_harmful(known, text) is not None
        rows.append(Row(file, number, known, text, harmful=harmful))
    return rows


def name(key: str) -> str:
    """A key with dots between its components: `net/ipv4/tcp_rmem` is `net.ipv4.tcp_rmem`.

    The first separator determines the form (sysctl.d(5)).
    """
    first = next((sign for sign in key if sign in "./"), ".")
    return key.translate(_SWAP) if first == "/" else key


_COMPARISON: Final = re.compile(r"(?:\[(\d)\] *)?(==|!=|>=|<=|>|<) *(\d+)")
_OPERATORS: Final = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le,
    ">": operator.gt, "<": operator.lt,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HarmfulSetting:
    """A harmful value of a parameter: the condition, the id of its source, and the reason."""

    key: str
    bad: str
    entry: str
    why: str

    def holds(self, value: str) -> bool:
        """Whether this value is harmful; False for text that is not a number."""
        words = value.split()
        if self.bad == "always":
            return True
        if self.bad == "equal":
            return len(words) == 3 and len(set(words)) == 1
        found = _COMPARISON.fullmatch(self.bad)
        if found is None:
            raise ValueError(f"legacy-sysctls.toml: {self.key}: no comparison: {self.bad!r}")
        place, sign, limit = int(found[1] or 0), found[2], int(found[3])
        if place >= len(words) or not re.fullmatch(r"-?\d{1,18}", words[place], re.ASCII):
            return False
        return bool(_OPERATORS[sign](int(words[place]), limit))


@cache
def lines() -> Mapping[str, Sequence[HarmfulSetting]]:
    """The harmful values by key; ValueError with the name of the file for a wrong table."""
    import tomllib

    path = config.rules_folder() / "legacy-sysctls.toml"
    out: dict[str, list[HarmfulSetting]] = {}
    try:
        for entry in tomllib.loads(path.read_text())["line"]:
            line = HarmfulSetting(**entry)
            line.holds("0")
            out.setdefault(line.key, []).append(line)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return out


def first_harmful(key: str, value: str) -> HarmfulSetting | None:
    """The first entry of `rules/legacy-sysctls.toml` by which this setting is harmful."""
    for line in lines().get(key.replace("/", "."), ()):
        if line.holds(value):
            return line
    return None
