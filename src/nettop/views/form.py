"""The form of a test: the address of the peer and how to run. Tests and proofs share it."""

from __future__ import annotations

from typing import Final

from .scene import View

FIELDS: Final = (  # name, label, default, hint
    ("tool", "tool", "iperf3", "← → change"),
    ("to", "address", "", "of the peer, e.g. 192.0.2.20"),
    ("peer", "peer", "", "command prefix that reaches the peer: ssh host2"),
    ("seconds", "seconds", "10", "at least 10 to compare runs"),
    ("streams", "streams", "1", "parallel connections"),
    ("reverse", "reverse", "no", "yes: the peer sends (← →)"),
)


def values(view: View) -> dict[str, str]:
    """Every field by name: the value typed, else the default."""
    return {name: view.form.get(name, default) for name, _, default, _ in FIELDS}
