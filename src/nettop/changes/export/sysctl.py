"""A file for /etc/sysctl.d (sysctl.d(5))."""

from collections.abc import Sequence
from typing import Final

from ... import settings
from ...host.source import Source
from .. import Change

ENDING: Final = "conf"
ORDER: Final = 2


def write(changes: Sequence[Change], source: Source) -> tuple[str, tuple[str, ...]]:  # noqa: ARG001
    """The sysctls; every other kind of setting is left out."""
    rows = ["# Written by nettop: for /etc/sysctl.d, then sysctl --system"]
    left = []
    for change in changes:
        address = change.address
        keep = settings.keep(address, change.after)
        if keep is not None and keep.where == "sysctl":
            rows.append(f"{address.name} = {change.after}")
        else:
            left.append(change.setting)
    return "\n".join(rows) + "\n", tuple(left)
