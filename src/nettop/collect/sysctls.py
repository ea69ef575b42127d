"""The kernel parameters that rules and facts name: /proc/sys, by the list `rules/sysctls.toml`.

Names have the form of sysctl(8): components joined by dots, a dot inside a component as `/`.
Parameters of `net` are those of the reader's network namespace; some exist in the first one only
(net/core/sysctl_net_core.c). An absent parameter has no row.
"""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Final

from .. import config
from ..frame.fields import gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass

EVERY: Final = 10.0

_SWAP: Final = str.maketrans("./", "/.")


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter; each run of white space in its value is one space."""

    name: str = label("name, e.g. net.ipv4.tcp_rmem")
    value: str = gauge("value")


@cache
def names() -> tuple[str, ...]:
    """The names of the list; ValueError for a wrong file."""
    table = tomllib.loads((config.rules_folder() / "sysctls.toml").read_text("utf-8"))
    found = [name for group in table.values() for name in group["names"]]
    if not all(isinstance(name, str) for name in found):
        raise ValueError("rules/sysctls.toml: names are text")
    return tuple(dict.fromkeys(found))


def path(name: str) -> str:
    """The file of a parameter: dots become slashes, and a slash inside a component a dot."""
    return "/proc/sys/" + name.translate(_SWAP)


def read(source: Source) -> list[Row]:
    """Every readable parameter of the list; OSError if none can be read."""
    rows = []
    failed: tuple[int | str | None, ...] = ()
    for name in names():
        try:
            rows.append(Row(name, " ".join(source.text(path(name)).split())))
        except OSError as error:  # its text is kept: its traceback holds locals
            failed = failed or (error.errno, error.strerror, error.filename)
    if not rows and failed:
        raise OSError(*failed)
    return rows
