"""The kernel parameters that rules and facts name: /proc/sys, by the list `rules/sysctls.toml`.

Names have the form of sysctl(8): components joined by dots, a dot inside a component as `/`.
Parameters of `net` are those of the reader's network namespace; some exist in the first one only
(net/core/sysctl_net_core.c). An absent parameter has no row. The table is `Partly` read where one
of the group `always` has no number: every supported kernel has these in each namespace.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from typing import Final

from .. import config
from ..frame.fields import gauge, label
from ..frame.rates import Partly
from ..host.source import UNRECORDED, Source
from ..terms.dataclass import dataclass
from ._table import Table

TABLE: Final = Table(every=10.0, needed="the network settings", whole=True)

_SWAP: Final = str.maketrans("./", "/.")


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter; each run of white space in its value is one space."""

    name: str = label("name, e.g. net.ipv4.tcp_rmem")
    value: str = gauge("value")


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """The names of each group of the list; ValueError for a wrong file."""
    table = tomllib.loads((config.rules_folder() / "sysctls.toml").read_text("utf-8"))
    found = {group: tuple(one["names"]) for group, one in table.items()}
    if not all(isinstance(name, str) for group in found.values() for name in group):
        raise ValueError("rules/sysctls.toml: names are text")
    return found


@cache
def names() -> tuple[str, ...]:
    """The names of the list; ValueError for a wrong file."""
    return tuple(dict.fromkeys(name for group in _groups().values() for name in group))


def path(name: str) -> str:
    """The file of a parameter: dots become slashes, and a slash inside a component a dot."""
    return "/proc/sys/" + name.translate(_SWAP)


def read(source: Source) -> Sequence[Row]:
    """Every readable parameter of the list; OSError if none can be read."""
    rows: list[Row] = []
    unrecorded = set()
    failed: tuple[int | str | None, ...] = ()
    for name in names():
        try:
            rows.append(Row(name, " ".join(source.text(path(name)).split())))
        except OSError as error:  # its text is kept: its traceback holds locals
            failed = failed or (error.errno, error.strerror, error.filename)
            if error.strerror == UNRECORDED:
                unrecorded.add(name)
    if not rows and failed:
        raise OSError(*failed)
    numbers = {row.name for row in rows if row.value.replace(" ", "").isdigit()}
    if hidden := [name for name in _groups()["always"] if name not in numbers]:
        rows = [row for row in rows if row.name not in hidden]
        more = f" and {len(hidden) - 1} more" if hidden[1:] else ""
        why = UNRECORDED if unrecorded.issuperset(hidden) else "could not be read"
        return Partly(rows, f"{hidden[0]}{more}: {why}")
    return rows
