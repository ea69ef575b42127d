"""Compare two hosts or recordings: settings that differ, and findings that only one of them has.

nettop compare web1.host.gz web2.host.gz     two recordings
nettop compare live web2.host.gz             this host and a recording
nettop compare a.host.gz                     both ends, by `nettop record a.host.gz --peer …`

A and B are recordings, directories with a copy of /proc and /sys, or `live` for this host. Settings
are matched by interface name. A device that only one host has is listed in one line.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..terms.errors import Refused
from . import _argument, duration_argument, emit, json_argument, open_source, print_lines

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..views.observer import Observation

GROUP = "data"
HELP = "show the differences between two hosts or recordings"
SETTINGS = (
    "driver", "firmware", "speed", "mtu", "txqueuelen", "node", "rx_queues", "tx_queues", "qdisc",
    "rps", "rfs", "xps", "msi", "ring", "coalesce", "pause", "channels", "pcie",
)  # fmt: skip
HOST = ("release", "cpus", "cores", "nodes", "packages", "smt", "irqbalance", "tuned", "cmdline")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("a", metavar="A", help="a recording, a directory, or `live`")
    parser.add_argument(
        "b", metavar="B", nargs="?", type=_argument.word,
        help="the same, for the second host (default: the other end of the pair of A)",
    )  # fmt: skip
    duration_argument(parser, "--seconds", "how long to observe each host (2)", 2.0)
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the differences. Exit code 0: none; 1: at least one."""
    args.b = args.b or _other_end(args.a)
    first, second = _observe(args.a, args.seconds), _observe(args.b, args.seconds)
    both = {nic.name for nic in first.facts.nics} & {nic.name for nic in second.facts.nics}
    a, b = _settings(first, both), _settings(second, both)
    differ = [
        {"what": name, "a": a.get(name), "b": b.get(name)}
        for name in sorted({*a, *b})
        if a.get(name) != b.get(name)
    ]
    only_a, only_b = _only(first, second), _only(second, first)
    if args.json:
        brief = [[{"id": f.id, "severity": f.severity, "title": f.title} for f in side]
                 for side in (only_a, only_b)]  # fmt: skip
        emit({"a": args.a, "b": args.b, "differ": differ,
              "findings": {"only_a": brief[0], "only_b": brief[1]}})  # fmt: skip
        return int(bool(differ or only_a or only_b))
    for row in differ:
        print_lines(f"{row['what']}: {_text(row['a'])} | {_text(row['b'])}")
    for name, side in ((args.a, only_a), (args.b, only_b)):
        for finding in side:
            print_lines(f"only {name}: {finding.severity} {finding.id}: {finding.title}")
    if not (differ or only_a or only_b):
        print("no difference")
    return int(bool(differ or only_a or only_b))


def _other_end(path: str) -> str:
    """The file of the other end of a recorded pair. Refused (2) where A is none."""
    import os

    from ..host.recording import Replay, mark_of, other_file

    alone = f"{path} is no end of a recorded pair: give B too"
    if path == "live" or os.path.isdir(path):
        raise Refused(alone, 2)
    source = open_source(argparse.Namespace(replay=path))
    mark = mark_of(source.comment) if isinstance(source, Replay) else None
    if mark is None:
        raise Refused(alone, 2)
    return other_file(path, here=mark.here)


def _observe(where: str, window: float) -> Observation:
    import os

    from .advise import observe

    folder = os.path.isdir(where)
    live = where == "live"
    args = argparse.Namespace(
        root=where if folder else None,
        replay=None if folder or live else where,
        netns=None,
        seconds=window,
    )
    return observe(open_source(args), args)


def _only(here: Observation, there: Observation) -> list[Finding]:
    """The findings of `here` that `there` does not have."""
    others = {finding.id for finding in there.judgement.findings}
    return [finding for finding in here.judgement.findings if finding.id not in others]


def _settings(host: Observation, both: set[str]) -> dict[str, object]:
    """Values by name; of an interface that is not in `both`, its kind and driver only."""
    from dataclasses import fields, is_dataclass

    values: dict[str, object] = {f"host.{name}": getattr(host.facts.host, name) for name in HOST}
    values.update({f"sysctl.{name}": value for name, value in host.facts.sysctls.items()})
    for nic in host.facts.nics:
        if nic.name not in both:
            values[nic.name] = f"{nic.kind}, {nic.driver}" if nic.driver else nic.kind
            continue
        for name in SETTINGS:
            value = getattr(nic, name)
            if is_dataclass(value):
                for f in fields(value):
                    if f.metadata["kind"] == "gauge":
                        values[f"{nic.name}.{name}.{f.name}"] = getattr(value, f.name)
            else:
                values[f"{nic.name}.{name}"] = value
        for feature in nic.features:
            values[f"{nic.name}.feature.{feature.name}"] = "on" if feature.on else "off"
    return values


def _text(value: object) -> str:
    return "–" if value is None else str(value)
