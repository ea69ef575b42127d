"""The text of nettop(7): what nettop models, and how it decides.

The profiles are those of the code; a test compares.
"""

from __future__ import annotations

from typing import Final

PROFILES: Final = (  # and the workload of each
    ("bulk-lan", "large transfers over short paths: throughput counts"),
    ("bulk-wan", "large transfers over long paths: windows and losses count"),
    ("latency", "small packets: the time of each counts"),
    ("capture", "packets are recorded: none may be lost"),
    ("server", "many connections of all kinds"),
)
LIMIT: Final = """\
Data passes stages in order, for example program, send buffer, queueing discipline, transmit ring,
link. A stage limits a flow if work waits before it, and not behind it, for at least half of the
time. A flow has one limit at a time. To relieve another stage does not make the flow faster.

The capacity of a stage is the rate at which it would be full, other things equal. It is an
interval, because it is an estimate. The stage with the next larger capacity is the next limit: no
fix of the present limit gives more than that. A limit marked `there` is beyond this host.

The evidence is `reported` (a counter of the kernel says so), `measured` (from times or queues),
`computed` (from speeds and sizes), or `inferred` (no other stage explains the rate)."""
FINDINGS: Final = """\
A rule is a condition on figures of the host, with the published measurement behind it. A rule that
holds on a target is a finding, written RULE@TARGET, for example rx-ring-overrun@eth0. A rule that
lacks a figure reports nothing, and `nettop explain` names the figure: an unknown value is never
zero.

The severities are `critical` (packets are lost, or something fails now), `warning` (costs
performance now), `advice` (could be better) and `info` (worth knowing). Findings of one
severity are listed by the gain that is predicted. The condition has to hold for a time that the
rule sets, so that a finding does not flicker.

Published advice conflicts. A finding shows contrary sources with the reason why they do not apply
here. What remains undecided is offered as an experiment."""
CHANGES: Final = """\
A setting is written KIND.NAME@TARGET, for example ring.rx@eth0. A change goes through a plan, the
journal on disk, the write, and a read of the value that is in effect. `nettop undo` writes the old
value back if nobody else has changed the setting since.

A change that may interrupt the link, or the SSH session of its user, reverts by itself unless it is
confirmed. A separate process, the guard, does that, also if nettop is killed or the connection is
lost. A change lasts until the next boot, unless it is made persistent (--keep, key s)."""
PROOF: Final = """\
The rate of a network varies by more than most settings change it. Two measurements, one before and
one after, prove nothing. `nettop prove` therefore tests without and with the change in turn, at
least five times each, and computes the confidence interval of the median difference. The verdict is
`better` only if the interval excludes zero, the gain exceeds 3 %, and neither drops nor retransmits
increase. Otherwise the change is reverted."""
TIME: Final = """\
Counters of the kernel are read once per interval; a rate is the difference of two samples, divided
by the time between them. The screen keeps the moments that it has seen, and shows them again (keys
← and →). The black box (`nettop watch --box`) keeps them on disk; an incident is a recording of the
minutes around the beginning of a finding."""
