"""What of this host loses the packets of a flow: a way that was walked, or drops at its port."""

from __future__ import annotations

from ....collect._words import NORMAL
from ..looks import Look


def loses(look: Look) -> str:
    """What it is, in words; empty: nothing known."""
    flow, more = look.flow, look.facts.more
    if flow is None or look.namespace is not None:
        return ""
    for way in more.get("way", ()):
        if way.stops and flow.id in way.explains:
            return str(way.decider)
    port = f"tcp port {flow.local_port}"
    for drop in more.get("drop", ()):
        if drop.kind != NORMAL and port in drop.ports:
            return f"this host drops packets of {port} ({drop.reason})"
    return ""


def waits(look: Look) -> bool:
    """Whether data of a flow waits to be sent, or to be sent again."""
    return bool(look.now("notsent") or look.now("lost"))
