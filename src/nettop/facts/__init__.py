"""Facts: things joined from several tables of a frame; pure, they never touch the host.

`build(frame)` (in `joined`) gives a `Facts`. Rules name these fields; `vocabulary()` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .kind import Kind
from .kinds.capture import Capture
from .kinds.core import Core
from .kinds.flow import Flow
from .kinds.host import Host
from .kinds.nic import Nic
from .kinds.path import Path
from .kinds.process import Process
from .kinds.queue import Queue
from .limits import Limit

PROFILES = ("bulk-lan", "bulk-wan", "latency", "capture", "server")


@dataclass(frozen=True, slots=True)
class Profile:
    """What the host is for, and why that is believed."""

    name: str
    why: str
    chosen: bool = False  # by the user


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a rule or a pane may know about one moment. Keys are the facts' labels."""

    host: Host
    profile: Profile
    at: float = 0.0
    nics: tuple[Nic, ...] = ()
    queues: tuple[Queue, ...] = ()
    cores: tuple[Core, ...] = ()
    flows: tuple[Flow, ...] = ()
    processes: tuple[Process, ...] = ()
    captures: tuple[Capture, ...] = ()
    paths: tuple[Path, ...] = ()
    sysctls: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()  # of flows, interfaces and datagram sockets
    more: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # of kinds with a `build`

    def of(self, kind: Kind) -> tuple[Any, ...]:
        """The facts of a kind: the targets of a rule over it."""
        if kind.build is not None:
            return self.more.get(kind.name, ())
        if kind.name == "host":
            return (self.host,)
        found: tuple[Any, ...] = getattr(self, kind.plural)
        return found
