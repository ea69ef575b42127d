"""Reads of small files, most of one value, with None for a file that cannot be read."""

from ..host.source import Source
from ..terms import cpulist


def word(source: Source, path: str) -> str | None:
    """The text of the file without surrounding space; None if unreadable or empty."""
    try:
        return source.text(path).strip(" \t\n\0") or None
    except OSError:
        return None


def number(source: Source, path: str) -> int | None:
    """The integer in the file; None if the file is unreadable or holds no integer."""
    return whole(word(source, path))


def whole(text: str | None) -> int | None:
    """The integer of a decimal or 0x text; None for any other text."""
    if text is None or len(text) > 24:
        return None
    try:
        return int(text, 16 if text.startswith(("0x", "0X")) else 10)
    except ValueError:
        return None


def cpus(source: Source, path: str) -> tuple[int, ...] | None:
    """The CPUs of the CPU list in the file; None if unreadable or no list."""
    text = word(source, path)
    if text is None:
        return None
    try:
        return cpulist.parse(text)
    except ValueError:
        return None


def mask(source: Source, path: str) -> tuple[int, ...] | None:
    """The CPUs (or queues) of the mask in the file; None if unreadable or no mask."""
    text = word(source, path)
    if text is None:
        return None
    try:
        return cpulist.parse_mask(text)
    except ValueError:
        return None


def names(source: Source, path: str) -> list[str]:
    """The names in a directory; empty if it cannot be read."""
    try:
        return source.listing(path)
    except OSError:
        return []


def target(source: Source, path: str) -> str | None:
    """The last component of a symbolic link's target, e.g. the name of a driver; None: no link."""
    try:
        return source.link(path).rstrip("/").rsplit("/", 1)[-1] or None
    except OSError:
        return None


def device(source: Source, nic: str) -> tuple[str, str] | None:
    """Name and sysfs path of the device below an interface; None for a virtual interface.

    The device of virtio_net is a child of the one that has the interrupts, the slot and the IOMMU
    group, so the folder is the parent's (drivers/virtio/virtio_pci_common.c).
    """
    path = f"/sys/class/net/{nic}/device"
    name = target(source, path)
    if name is None:
        return None
    return name, f"{path}/.." if name.startswith("virtio") else path
