"""Threads that sleep, as rows of `waits`."""

from typing import Any

from nettop.collect import waits


def asleep(*fields: Any, **named: Any) -> waits.Row:
    """The row, with the type that the kernel's name of its object tells (proc(5), fd)."""
    name = named.get("object", fields[7] if len(fields) > 7 else "")
    kind = "file" if name.startswith("/") else name.partition(":")[0]
    return waits.Row(*fields, **{"type": kind, **named})
