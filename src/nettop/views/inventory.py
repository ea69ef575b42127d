"""The inventory of a host: kernel, interfaces with their drivers, settings with values.

`advise --json` has it as `system`; `nettop fleet` compares hosts by it. Settings that nettop can
write have their address and their canonical value (`ring.rx@eth0` is `4096`). Other properties that
differ between hosts have names of the same form: `nic.speed@eth0`, `host.cpus`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from .. import settings
from ..facts import Facts

if TYPE_CHECKING:
    from ..facts.kinds.nic import Nic

KINDS: Final = ("nic", "bond")  # a host can have thousands of other interfaces
# what no setting of nettop writes, or not as one value
PROPERTIES: Final = (
    "speed", "duplex", "port_speed", "pcie.speed", "pcie.width", "ring.rx_max", "fec", "iommu",
    "qdisc", "leaf_qdisc", "rps", "rfs", "xps", "sriov_vfs", "xdp",
)  # fmt: skip
# the driver changes these while adaptive moderation is on
_MODERATED: Final = {
    "coalesce.rx_usecs": "adaptive_rx", "coalesce.rx_frames": "adaptive_rx",
    "coalesce.tx_usecs": "adaptive_tx", "coalesce.tx_frames": "adaptive_tx",
}  # fmt: skip
_COUNTS: Final = frozenset({"net.netfilter.nf_conntrack_count"})  # a sysctl that is no setting
HOST: Final = (
    "cpus", "cores", "nodes", "packages", "smt", "virtual", "irqbalance", "tuned", "forwarding",
    "firewall", "iommu_pt",
)  # fmt: skip


def inventory(facts: Facts, at: float) -> dict[str, Any]:
    """The inventory by these facts, read at `at`. What is unknown is absent."""
    nics = [nic for nic in facts.nics if nic.kind in KINDS]
    found = {
        f"sysctl.{name}": value for name, value in facts.sysctls.items() if name not in _COUNTS
    }
    found.update(
        (f"host.{name}", text)
        for name in HOST
        if (text := _text(getattr(facts.host, name))) is not None
    )
    for nic in nics:
        found.update(_of(nic))
    return {
        "at": at,
        "kernel": facts.host.release,
        "interfaces": [
            {"name": nic.name, "kind": nic.kind, "driver": nic.driver,
             "firmware": nic.firmware or ""}
            for nic in nics
        ],
        "settings": found,
    }  # fmt: skip


def address(field: str, target: str) -> str:
    """The name in an inventory of a field in the evidence of a finding about `target`."""
    if field.startswith(("sysctl.", "host.")):
        return field
    nic = target.partition("/")[0]
    if field.startswith("feature."):
        return f"{field}@{nic}"
    name = field.removeprefix("nic.")
    return f"{of_nic().get(name, f'nic.{name}')}@{nic}"


@cache
def of_nic() -> Mapping[str, str]:
    """By field of a Nic the name of its setting."""
    from ..advice.language.tunable import field_of  # late: the first paint needs no rules

    known = {kind: settings.kind(kind) for kind in settings.kinds()}
    names = ((kind, name) for kind, module in known.items() if getattr(module, "NIC", False)
             for name in getattr(module, "NAMES", ()))  # fmt: skip
    return {".".join(path): f"{kind}.{name}" for kind, name in names
            if (path := field_of(kind, name))}  # fmt: skip


def _of(nic: Nic) -> Iterator[tuple[str, str]]:
    for field in (*of_nic(), *PROPERTIES):
        text = _text(attrgetter(field)(nic))
        if field in _MODERATED and getattr(nic.coalesce, _MODERATED[field]):
            continue
        if text is not None:
            yield address(f"nic.{field}", nic.name), text
    for feature in nic.features:
        if not feature.fixed:
            yield f"feature.{feature.name}@{nic.name}", _text(feature.on) or ""


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.15g}" if isinstance(value, float) else str(value)
