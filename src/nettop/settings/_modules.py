"""The modules of the kernel: built in, or loaded on demand."""

from __future__ import annotations

import re

from ..host.source import Source

_NAME = re.compile(r"/([a-z0-9_]+)\.ko")


def names(source: Source) -> frozenset[str]:
    """The kernel's modules, built-in ones included; empty where the host does not list them."""
    try:
        folder = "/lib/modules/" + source.text("/proc/sys/kernel/osrelease").strip()
        built_in, others = (source.text(f"{folder}/modules.{end}") for end in ("builtin", "dep"))
    except OSError:
        return frozenset()
    own = (row.partition(":")[0] for row in others.splitlines())  # dependencies follow the colon
    return frozenset(_NAME.findall("\n".join([built_in, *own])))
