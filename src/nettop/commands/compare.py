"""Compare two hosts or recordings: settings that differ, and findings that only one of them has.

A and B are recordings, directories with a copy of /proc and /sys, or `live` for this host. Settings
are matched by interface name. A device that only one host has is listed in one line.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from . import duration_argument, emit, json_argument, open_source, say

if TYPE_CHECKING:
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
    parser.add_argument("b", metavar="B", help="the same, for the second host")
    duration_argument(parser, "--seconds", "how long to observe each host (2)", 2.0)
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the differences. Exit code 0: none; 1: at least one."""
    one, other = _look(args.a, args.seconds), _look(args.b, args.seconds)
    both = {nic.name for nic in one.facts.nics} & {nic.name for nic in other.facts.nics}
    differ = [
        {"what": what, "a": one_of.get(what), "b": other_of.get(what)}
        for one_of, other_of in [(_settings(one, both), _settings(other, both))]
        for what in sorted({*one_of, *other_of})
        if one_of.get(what) != other_of.get(what)
    ]
    here = {found.id: found for found in one.judgement.findings}
    there = {found.id: found for found in other.judgement.findings}
    only_a = [here[name] for name in here if name not in there]
    only_b = [there[name] for name in there if name not in here]
    if args.json:
        brief = [[{"id": f.id, "severity": f.severity, "title": f.title} for f in side]
                 for side in (only_a, only_b)]  # fmt: skip
        emit({"a": args.a, "b": args.b, "differ": differ,
              "findings": {"only_a": brief[0], "only_b": brief[1]}})  # fmt: skip
        return int(bool(differ or only_a or only_b))
    for line in differ:
        say(f"{line['what']}: {_shown(line['a'])} | {_shown(line['b'])}")
    for name, side in ((args.a, only_a), (args.b, only_b)):
        for found in side:
            say(f"only {name}: {found.severity} {found.id}: {found.title}")
    if not (differ or only_a or only_b):
        print("no difference")
    return int(bool(differ or only_a or only_b))


def _look(where: str, window: float) -> Observation:
    import os

    from .advise import look

    folder = os.path.isdir(where)
    live = where == "live"
    args = argparse.Namespace(
        root=where if folder else None,
        replay=None if folder or live else where,
        netns=None,
        seconds=window,
    )
    return look(open_source(args), args)


def _settings(seen: Observation, both: set[str]) -> dict[str, Any]:
    from dataclasses import fields, is_dataclass

    found: dict[str, Any] = {f"host.{name}": getattr(seen.facts.host, name) for name in HOST}
    found.update({f"sysctl.{name}": value for name, value in seen.facts.sysctls.items()})
    for nic in seen.facts.nics:
        if nic.name not in both:
            found[nic.name] = f"{nic.kind}, {nic.driver}" if nic.driver else nic.kind
            continue
        for name in SETTINGS:
            value = getattr(nic, name)
            if is_dataclass(value):
                for f in fields(value):
                    found[f"{nic.name}.{name}.{f.name}"] = getattr(value, f.name)
            else:
                found[f"{nic.name}.{name}"] = value
        for feature in nic.features:
            found[f"{nic.name}.feature.{feature.name}"] = "on" if feature.on else "off"
    return found


def _shown(value: Any) -> str:
    return "–" if value is None else str(value)
