"""The form of a test: tool, address of the peer, options. Tests, proofs and studies use it."""

from __future__ import annotations

from typing import Final

from .scene import View

PROMPTS: Final = {  # of a value that a proof asks for: the prompt, what Enter does
    "form.to": ("address of the peer", "continues"),
    "form.peer": ("command prefix that reaches the peer (ssh host2), or empty:", "shows the plan"),
}
FIELDS: Final = (  # name, label, default, hint
    ("tool", "tool", "iperf3", "← → change"),
    ("to", "address", "", "of the peer, e.g. 192.0.2.20"),
    ("peer", "peer", "", "command prefix that reaches the peer: ssh host2"),
    ("seconds", "seconds", "10", "at least 10 to compare runs"),
    ("streams", "streams", "1", "parallel connections"),
    ("reverse", "reverse", "no", "yes: the peer sends (← →)"),
)


def values(view: View) -> dict[str, str]:
    """The value of each field by name: what was typed, else the default."""
    return {name: view.form.get(name, default) for name, _, default, _ in FIELDS}
