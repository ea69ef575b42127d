"""Facts: values joined from several tables of a frame. Pure: nothing here reads the host.

`joined.build(frame)` returns a `Facts`. Rules name the fields of the classes in `kinds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ..terms.dataclass import dataclass
from .means import Means

if TYPE_CHECKING:
    from .kind import Fact, Kind
    from .kinds.capture import Capture
    from .kinds.core import Core
    from .kinds.flow import Flow
    from .kinds.host import HostFact
    from .kinds.nic import Nic
    from .kinds.path import Path
    from .kinds.process import Process
    from .kinds.queue import Queue
    from .limits import Limit
    from .losses import Accounting
    from .rhythm import Rhythm


PROFILES = ("bulk-lan", "bulk-wan", "latency", "capture", "server")


@dataclass(frozen=True, slots=True)
class Profile:
    """The purpose of the host, and the reason for this choice."""

    name: str
    why: str
    chosen: bool = False  # by the user


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that rules and panes know of one moment; `at` is monotonic time in seconds."""

    host: HostFact
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
    means: Means = Means()  # of rates, over the window of the limits
    more: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)  # of kinds with `build`
    losses: Accounting | None = None  # of the whole look; None: it has not ended
    rhythms: tuple[Rhythm, ...] = ()  # drops and failed calls of it that came in bursts
    elsewhere: tuple[Flow, ...] = ()  # flows of other network namespaces, for the kinds that look

    def here(self) -> Facts:
        """The facts without flows of other network namespaces, which have settings of their own."""
        own = tuple(flow for flow in self.flows if flow.namespace is None)
        return self if len(own) == len(self.flows) else replace(self, flows=own)

    def of(self, kind: Kind) -> tuple[Fact, ...]:
        """The facts of a kind, which are the targets of its rules."""
        if kind.build is not None:
            return self.more.get(kind.name, ())
        if kind.name == "host":
            return (self.host,)
        facts: tuple[Fact, ...] = getattr(self, kind.plural)
        return facts
