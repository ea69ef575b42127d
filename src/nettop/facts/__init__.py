"""Facts: things joined from several tables of a frame; pure, they never touch the host.

`build(frame)` (in `joined`) gives a `Facts`. Rules name these fields; `vocabulary()` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .capture import Capture
from .core import Core
from .flow import Flow
from .host import Host
from .nic import Nic
from .path import Path
from .process import Process
from .queue import Queue

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


KINDS: Mapping[str, type] = {
    "host": Host, "nic": Nic, "queue": Queue, "core": Core, "flow": Flow,
    "process": Process, "capture": Capture, "path": Path,
}  # fmt: skip


def targets(facts: Facts, over: str) -> tuple[Any, ...]:
    """The facts a rule of that `over` is judged on, one evaluation each."""
    return {
        "host": (facts.host,), "nic": facts.nics, "queue": facts.queues, "core": facts.cores,
        "flow": facts.flows, "process": facts.processes, "capture": facts.captures,
        "path": facts.paths,
    }[over]  # fmt: skip
