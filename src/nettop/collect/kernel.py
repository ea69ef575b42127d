"""The running kernel, the machine, and whether this is a container.

Release, name and command line are read from /proc, memory from /proc/meminfo, the hypervisor from
DMI, /sys/hypervisor, the CPU flag or the clock source of a guest. They are read once, because they
do not change before a reboot.
"""

from typing import Final

from ..frame.fields import gauge, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=1000000000.0)

# /sys/class/dmi/id sys_vendor and product_name, as systemd-detect-virt(1) tells them apart.
_VENDORS: Final = (
    ("Amazon EC2", "amazon"), ("Google", "google"), ("VMware", "vmware"), ("innotek", "oracle"),
    ("Xen", "xen"), ("Bochs", "bochs"), ("Parallels", "parallels"), ("BHYVE", "bhyve"),
    ("Alibaba Cloud", "alibaba"), ("KubeVirt", "kvm"), ("OpenStack", "kvm"), ("RHEV", "kvm"),
    ("QEMU", "qemu"), ("Standard PC (", "qemu"), ("KVM", "kvm"),
    ("Microsoft Corporation", "hyperv"),
)  # fmt: skip
_CLOCKS: Final = "/sys/devices/system/clocksource/clocksource0"
_GUEST_CLOCKS: Final = (("kvm-clock", "kvm"), ("hyperv", "hyperv"), ("xen", "xen"))
_NET_ADMIN: Final = 12  # CAP_NET_ADMIN, include/uapi/linux/capability.h
_PAGES: Final = (4096, 8192, 16384, 65536)


@dataclass(frozen=True, slots=True)
class Row:
    """The one row. None: unknown."""

    release: str = gauge("kernel release, e.g. 6.1.0-18-amd64")
    hostname: str | None = maybe("host name")
    cmdline: str | None = maybe("kernel command line")
    boot_id: str | None = maybe("boot identifier")
    memory: int | None = maybe("memory", "bytes")
    page: int | None = maybe("page size", "bytes")
    virtual: str | None = maybe("hypervisor, if the host is a guest")
    container: bool | None = maybe("own network namespace")
    admin: bool | None = maybe("permission to change network settings (CAP_NET_ADMIN)")
    product: str | None = maybe("product name of the machine")


def read(source: Source) -> list[Row]:
    """One row; OSError without /proc/sys/kernel/osrelease."""
    status = fields(_sysfs.word(source, "/proc/self/status") or "")
    memory = fields(_sysfs.word(source, "/proc/meminfo") or "").get("MemTotal", "").split()
    kilobytes = _sysfs.whole(memory[0]) if memory else None
    return [
        Row(
            source.text("/proc/sys/kernel/osrelease").strip(),
            hostname=_sysfs.word(source, "/proc/sys/kernel/hostname"),
            cmdline=_sysfs.word(source, "/proc/cmdline"),
            boot_id=_sysfs.word(source, "/proc/sys/kernel/random/boot_id"),
            memory=None if kilobytes is None else kilobytes * 1024,
            page=_page(status.get("VmSize"), _sysfs.word(source, "/proc/self/statm")),
            virtual=_virtual(source),
            container=_container(source),
            admin=_admin(status.get("CapEff")),
            product=_sysfs.word(source, "/sys/class/dmi/id/product_name"),
        )
    ]


def fields(text: str) -> dict[str, str]:
    """The `Name: value` lines of a file such as /proc/self/status or /proc/meminfo, by name."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def _page(size: str | None, statm: str | None) -> int | None:
    """Bytes per page, from one size in kB and in pages (fs/proc/array.c, task_mmu.c)."""
    kilobytes = _sysfs.whole((size or "").split(" ")[0])
    pages = _sysfs.whole((statm or "").split(" ")[0])
    if not kilobytes or not pages:
        return None
    ratio = kilobytes * 1024 / pages
    return min(_PAGES, key=lambda page: abs(page - ratio))


def _virtual(source: Source) -> str | None:
    hypervisor = _sysfs.word(source, "/sys/hypervisor/type")
    if hypervisor is not None:
        return hypervisor
    vendor = _sysfs.word(source, "/sys/class/dmi/id/sys_vendor") or ""
    product = _sysfs.word(source, "/sys/class/dmi/id/product_name") or ""
    for start, name in _VENDORS:
        virtual = name != "hyperv" or product.startswith("Virtual Machine")
        metal = product.endswith(".metal") or "-metal" in product
        if virtual and not metal and (vendor.startswith(start) or product.startswith(start)):
            return name
    info = _sysfs.word(source, "/proc/cpuinfo") or ""
    first = info[: info.find("\n\n") if "\n\n" in info else len(info)]
    if "hypervisor" not in fields(first).get("flags", "").split():
        return None
    clocks = _sysfs.word(source, f"{_CLOCKS}/available_clocksource") or ""
    return next((name for clock, name in _GUEST_CLOCKS if clock in clocks), "unnamed")


def _container(source: Source) -> bool | None:
    """Whether this is not the first network namespace (net/core/sysctl_net_core.c)."""
    there = _sysfs.names(source, "/proc/sys/net/core")
    if there:
        return "netdev_max_backlog" not in there
    own = _sysfs.target(source, "/proc/self/ns/net")
    first = _sysfs.target(source, "/proc/1/ns/net")
    return None if own is None or first is None else own != first


def _admin(capabilities: str | None) -> bool | None:
    if capabilities is None:
        return None
    bits = _sysfs.whole("0x" + capabilities)
    return None if bits is None else bool(bits >> _NET_ADMIN & 1)
