"""Other owners of a setting that may overwrite it, and how to coordinate with them."""

import os
from collections.abc import Iterator
from contextlib import suppress

from .. import settings
from ..host.source import Source
from ..settings import Address

OURS = "90-nettop.conf"
_LINK = ("/etc/systemd/network", "/run/systemd/network", "/usr/lib/systemd/network")
_GOOGLE = "Google's guest agent sets queues and XPS at boot (google_set_multiqueue)"
_AGENTS = {
    "google_guest_ag": _GOOGLE,  # a process name has 15 characters
    "waagent": "Azure's agent may set up the network again after maintenance",
    "cloud-init": "cloud-init writes the network configuration at each boot",
}


_OWNERS = frozenset(
    {"irqbalance", "tuned", "NetworkManager", "systemd-network", "systemd-networkd", *_AGENTS}
)


def notes(source: Source, setting: str) -> tuple[str, ...]:
    """One sentence for each other owner of this setting on the host."""
    address = settings.parse(setting)
    if not settings.runtime(address):
        return ()
    return tuple(_notes(source, address))


def _notes(source: Source, address: Address) -> Iterator[str]:
    kind = settings.kind(address.kind)
    linked = hasattr(kind, "LINKS")
    running = _running(source) if address.kind != "process" else frozenset()
    if address.kind == "irq" and "irqbalance" in running and not _banned(source, address):
        yield (
            f"irqbalance runs and will move it again: nettop set irqbalance.ban@{address.nic} on, "
            "or systemctl stop irqbalance"
        )
    profile = _tuned(source) if "tuned" in running else ""
    if profile and (linked or address.kind in ("sysctl", "cpufreq", "irq")):
        yield (
            f"tuned runs with profile {profile!r} and may set it again when it restarts: "
            "put it into a profile of your own that includes this one"
        )
    if address.kind == "sysctl":
        yield from _lines(source, address.name)
    if running & {"systemd-network", "systemd-networkd"}:
        yield from _networks(source, address)
    if linked:
        if "NetworkManager" in running:
            yield (
                f"NetworkManager runs and sets again what its profile of {address.nic} has "
                "(nmcli connection modify NAME 802-3-ethernet.mtu, ethtool.ring-rx, …)"
            )
        yield from _links(source, address)
    if getattr(kind, "NIC", False):
        yield from (_AGENTS[name] for name in sorted(running & set(_AGENTS)))


def _running(source: Source) -> frozenset[str]:
    """The names of running programs that may own settings."""
    names = set()
    for pid in filter(str.isdigit, _listing(source, "/proc")):
        try:
            names.add(source.text(f"/proc/{pid}/comm").strip())
        except OSError:
            continue
    return frozenset(names & _OWNERS)


def _banned(source: Source, address: Address) -> bool:
    """Whether this interrupt is on the ban list of irqbalance."""
    from ..settings import irq, irqbalance

    try:
        return irq.number(source, address) in irqbalance.banned(source)
    except (OSError, LookupError):
        return False


def _tuned(source: Source) -> str:
    try:
        return source.text("/etc/tuned/active_profile").strip() or "unknown"
    except OSError:
        return "unknown"


def _lines(source: Source, name: str) -> Iterator[str]:
    """The line of a sysctl file that sets it at boot; of several the one that is applied last."""
    from ..collect import sysctl_files

    sentence = ""
    for path in sysctl_files.files(source):
        if path.endswith(f"/{OURS}"):
            continue
        try:
            rows = sysctl_files.parse(source.text(path), path)
        except OSError:
            continue
        for row in rows:
            if row.key == name:
                sentence = f"{row.file}:{row.line} sets it to {row.value!r} at boot"
    if sentence:
        yield sentence


def _links(source: Source, address: Address) -> Iterator[str]:
    keep = settings.keep(address, "0")
    key = keep.key if keep and keep.where == "link" else ""
    for path, present in _files(source, ".link") if key else ():
        if key in present and "nettop" not in os.path.basename(path):
            yield f"{path} sets {key} when the device appears"


def _files(source: Source, ending: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The path and the keys of each file with this ending that systemd reads."""
    for folder in _LINK:
        for entry in _listing(source, folder):
            if entry.endswith(ending):
                with suppress(OSError):
                    rows = source.text(f"{folder}/{entry}").splitlines()
                    keys = (row.partition("=")[0].strip() for row in rows)
                    yield f"{folder}/{entry}", frozenset(keys)


# the keys of a .network file that set a setting, by its kind and name
_NETWORK = {
    "link.mtu": ("MTUBytes",),
    "route.mtu": ("MTUBytes",),
    "route.initcwnd": ("InitialCongestionWindow",),
    "route.initrwnd": ("InitialAdvertisedReceiveWindow",),
    "route.quickack": ("QuickAck",),
    "route.advmss": ("TCPAdvertisedMaximumSegmentSize",),
    "route.rto_min": ("TCPRetransmissionTimeoutSec",),
    "route.congctl": ("TCPCongestionControlAlgorithm",),
    "qdisc.root": ("Parent", "Handle"),
    "qdisc.leaves": ("Parent", "Handle"),
}


def _networks(source: Source, address: Address) -> Iterator[str]:
    """The .network files with keys that networkd sets when it configures the interface."""
    keys = _NETWORK.get(f"{address.kind}.{address.name}", ())
    for path, present in _files(source, ".network") if keys else ():
        if key := next((key for key in keys if key in present), ""):
            yield f"systemd-networkd runs, and {path} sets {key}: change it there"


def _listing(source: Source, folder: str) -> list[str]:
    try:
        return source.listing(folder)
    except OSError:
        return []
