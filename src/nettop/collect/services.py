"""Services that change network settings: irqbalance, tuned, NetworkManager and others.

They are identified by command names (/proc/PID/comm) and files; no program is started. In a PID
namespace (without kthreadd) a service that is not visible may still run: then it is unknown.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..frame.rates import Unfinished
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _pids, _sysfs, processes
from ._table import Memory, Table, recall

TABLE: Final = Table(every=30.0, memory=_pids.MEMORY)  # `processes` knows the names of many

PART: Final = 50  # one of so many processes may have ended since the list

# service: its command name, which the kernel cuts at 15 bytes (TASK_COMM_LEN)
_NAMES: Final = {
    "irqbalance": "irqbalance", "tuned": "tuned", "NetworkManager": "NetworkManager",
    "networkd": "systemd-network", "wicked": "wickedd", "firewalld": "firewalld",
    "docker": "dockerd", "kubelet": "kubelet", "openvswitch": "ovs-vswitchd", "bpftune": "bpftune",
    "chrony": "chronyd", "ptp4l": "ptp4l", "lldpad": "lldpad", "teamd": "teamd",
}  # fmt: skip
_SETTINGS: Final = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")


@dataclass(frozen=True, slots=True)
class Row:
    """One known service."""

    name: str = label("service")
    running: bool | None = gauge("running; None: not visible from here")
    pid: int | None = maybe("process")
    detail: str | None = maybe("tuned: the profile; irqbalance: its options")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every known service; OSError if /proc cannot be listed.

    Of many processes the names are those that `processes` has read; `Unfinished` until it has
    read all.
    """
    listed = _pids.pids(source, memory)
    known = recall(memory, processes.Last) if len(listed) > _pids.MANY else processes.Last()
    found: dict[str, int] = {}
    unread = 0
    for pid in listed:
        name = known.name(pid) if known.seen else _sysfs.word(source, f"/proc/{pid}/comm")
        if name is not None:
            found.setdefault(name, int(pid))
        else:
            unread += bool(known.seen)
    partly = unread > len(listed) // PART
    absent = False if "kthreadd" in found and not partly else None
    rows = [
        Row(
            name,
            running=True if comm in found else absent,
            pid=found.get(comm),
            detail=_detail(source, name, found.get(comm)),
        )
        for name, comm in _NAMES.items()
    ]
    return Unfinished(rows, _pids.left(unread, len(listed), "names")) if partly else rows


def _detail(source: Source, name: str, pid: int | None) -> str | None:
    if name == "tuned":
        return _sysfs.word(source, "/etc/tuned/active_profile")
    if name != "irqbalance" or pid is None:
        return None
    words = (_sysfs.word(source, f"/proc/{pid}/cmdline") or "").split("\0")[1:]
    for path in _SETTINGS:
        for line in (_sysfs.word(source, path) or "").splitlines():
            if line.startswith("IRQBALANCE_BANNED"):
                words.append(line.strip())
    return " ".join(words) or None
