"""What facts say about a setting: its current value, its maximum, whether it is fixed.

With it a finding offers no value that is already set or that the driver refuses. Other settings are
offered as the rule says; `changes.plan` reads the host before anything is written.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Any, Final

from ...facts.kinds.nic import Nic
from ...terms.dataclass import dataclass
from .functions.cpus import cpu_list
from .moment import Moment
from .values import Value
from .vocabulary import ANY, NUMBER, SWITCH, TEXT, find

CPUS: Final = "CPU list"  # a number or a list of numbers is made one
_MOST: Final = {"mtu": "max_mtu", "gso_max_size": "tso_max_size"}  # else `FIELD_max`
_TYPES: Final = {
    "coalesce": NUMBER, "link": NUMBER, "feature": SWITCH, "privflag": SWITCH,
    "irq": CPUS, "rps": CPUS, "process": CPUS, "thread": CPUS, "qdisc": TEXT, "cpufreq": TEXT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TunableValue:
    """The current value as canonical text, the largest number allowed, whether it is fixed."""

    now: str | None = None
    most: float | None = None
    fixed: bool = False


@cache
def field_of(kind: str, name: str) -> tuple[str, ...]:
    """The path of the field of a Nic that has the value of `kind.name`; empty if none has."""
    own = name.replace("-", "_")
    return next((path for path in ((kind, own), (own,)) if find(Nic, path)), ())


def type_of(setting: str) -> str:
    """The type that a value of the setting must have; ANY where neither field nor table has it."""
    kind, _, rest = setting.partition(".")
    name = rest.partition("@")[0]
    if word := find(Nic, field_of(kind, name)):
        return word.type
    if kind == "xps" and name == "cpus":
        return CPUS
    return _TYPES.get(kind, ANY)


def canonical(value: Value | None) -> str | None:
    """A value as settings write it; None for what no setting can take."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else f"{value:g}"
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, tuple) and value:
        words = [canonical(part) for part in value]
        return " ".join(word or "" for word in words) if None not in words else None
    return None


def known(setting: str, moment: Moment) -> TunableValue:
    """What the facts of this moment say about a setting."""
    kind, _, rest = setting.partition(".")
    if kind == "sysctl":
        text = moment.facts.sysctls.get(rest)
        return TunableValue(None if text is None else " ".join(text.split()))
    name, _, target = rest.partition("@")
    if kind == "process" and name == "affinity":
        process = moment.processes.get(int(target)) if target.isdigit() else None
        return TunableValue(cpu_list(process.allowed) if process and process.allowed else None)
    nic = moment.nics.get(target.partition("/")[0])
    return TunableValue() if nic is None else _of_nic(kind, name, target, nic, moment)


def _of_nic(kind: str, name: str, target: str, nic: Nic, moment: Moment) -> TunableValue:
    if kind == "feature":
        feature = moment.feature(nic, name)
        return (
            TunableValue(canonical(feature.on), None, feature.fixed) if feature else TunableValue()
        )
    if kind == "qdisc" and name == "root":
        return TunableValue(nic.qdisc)
    if kind == "privflag":
        return TunableValue(canonical(dict(nic.private_flags).get(name)))
    if path := field_of(kind, name):
        *part, field = path
        return TunableValue(
            canonical(_value(nic, path)), _value(nic, (*part, _MOST.get(field, f"{field}_max")))
        )
    queue = moment.queues.get((nic.name, target.partition("/")[2]))
    if queue is not None and name in ("affinity", "cpus"):
        cpus = queue.allowed if kind == "irq" else queue.rps_cpus
        return TunableValue(cpu_list(cpus) if cpus else None)
    return TunableValue()


def _value(nic: Nic, path: tuple[str, ...]) -> Any:
    return attrgetter(".".join(path))(nic) if find(Nic, path) else None
