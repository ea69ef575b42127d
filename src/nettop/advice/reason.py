"""Why a rule does not speak on a target, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .condition import Judged
from .evaluate import Read, Scope, evaluate
from .moment import Moment
from .template import shown

_TABLES: Final = {
    "nic.ring": "rings", "nic.coalesce": "coalesce", "nic.pause": "pause",
    "nic.channels": "channels", "feature": "features", "nic.per_s": "nicstats",
    "nic.pcie": "netclass", "nic.rss_": "rss", "nic.module_": "module", "nic.fec": "fec",
    "nic.qdisc": "qdiscs", "flow": "sockets_tcp", "capture": "packet_sockets", "core": "cpu",
    "process": "processes", "sysctl": "sysctls",
}  # fmt: skip


def elsewhere(judged: Judged, moment: Moment, fact: Any) -> str | None:
    """Why the rule does not judge this target at all; None where it does."""
    rule = judged.rule
    nic = moment.scope(rule.over, fact).get("nic")
    if rule.profiles is not None and moment.profile not in rule.profiles:
        return f"it is for {', '.join(sorted(rule.profiles))}; this host is {moment.profile}"
    if rule.over in ("queue", "path") and nic is None:
        return f"nothing is known of the interface {fact.nic}"
    if rule.links is not None and nic is not None and nic.kind not in rule.links:
        return f"{nic.name} is of kind {nic.kind}, where this does not apply"
    return None


def because(judged: Judged, moment: Moment, fact: Any, target: str) -> str:
    """The sentence for one rule on one target that it judges and does not find."""
    rule = judged.rule
    scope = Scope(moment.scope(rule.over, fact), moment, rule.limits, target)
    result = evaluate(rule.when, scope)
    if result.value is None:
        return unknowns(result.unknown() or result.reads, moment)
    if result.value is False:
        return f"not so: {rule.when.text} ({values(result.reads)})"
    for exempt in rule.unless:
        answer = evaluate(exempt.when, scope)
        if answer.value is None:
            return unknowns(answer.unknown() or answer.reads, moment)
        if answer.value is True:
            return exempt.say.prose(scope)
    return "nothing is known"


def values(reads: Iterable[Read]) -> str:
    """`nic.ring.rx is 256 descriptors; …`."""
    return "; ".join(f"{read.field} is {shown(read.value, read.measure)}" for read in reads)


def unknowns(reads: Iterable[Read], moment: Moment) -> str:
    """`nic.ring.rx_max is not known: the driver does not report it`."""
    return "; ".join(f"{read.field} is not known: {_why(read.field, moment)}" for read in reads)


def _why(field: str, moment: Moment) -> str:
    for prefix, table in _TABLES.items():
        if field.startswith(prefix):
            reason = moment.facts.missing.get(table)
            if reason:
                return reason
    if field.startswith("sysctl."):
        return "this kernel has no such setting, or it cannot be read from here"
    if field.startswith("nic.per_s."):
        return "the driver does not count it, or there was only one sample yet"
    if field.startswith(("nic.", "feature.")):
        return "the driver does not report it"
    return "the host does not tell, or there was only one sample yet"
