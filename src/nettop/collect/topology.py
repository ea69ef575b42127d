"""Topology of each CPU: package, core, NUMA node, and the CPUs that share its core, L2 and L3.

/sys/devices/system/cpu/cpuN/{topology,cache} (Documentation/admin-guide/cputopology.rst) and
/sys/devices/system/node/nodeN/cpulist. Numbers may have holes and CPUs may be offline (they have no
topology). ARM, s390 and small virtual machines lack some files; their fields are None.

A set of CPUs is read from its first member only, and all files are read again only when the online
CPUs change: 1,152 CPUs cost about 2,000 small files once.
"""

from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.source import Source
from ..terms import cpulist
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=30.0, timeless=True)

_CPUS: Final = "/sys/devices/system/cpu"
_NODES: Final = "/sys/devices/system/node"


@dataclass(frozen=True, slots=True)
class Row:
    """One CPU that is present."""

    cpu: int = label("CPU number")
    online: bool = gauge("online")
    package: int | None = maybe("physical package")
    core: int | None = maybe("core number within its package")
    node: int | None = maybe("NUMA node")
    siblings: tuple[int, ...] | None = maybe("CPUs of its core, with itself")
    l2: tuple[int, ...] | None = maybe("CPUs of its L2, with itself")
    l3: tuple[int, ...] | None = maybe("CPUs of its L3, with itself")


def update(source: Source, memory: Memory) -> list[Row]:
    """Every present CPU. OSError without sysfs, ValueError if `online` is not a CPU list."""
    online = source.text(f"{_CPUS}/online")
    return parsed(memory, "online", online, lambda text: _read(source, cpulist.parse(text)))


def _read(source: Source, online: tuple[int, ...]) -> list[Row]:
    nodes = _nodes(source)
    siblings = _Shared(source, ("topology/thread_siblings_list", "topology/core_cpus_list"))
    packages = _Shared(source, ("topology/core_siblings_list", "topology/package_cpus_list"))
    l2, l3 = _Cache(source, 2), _Cache(source, 3)
    package_ids: dict[int, int | None] = {}
    core_ids: dict[int, int | None] = {}
    rows = []
    for cpu in online:
        core, package = siblings.of(cpu), packages.of(cpu)
        if cpu not in package_ids:
            number = _sysfs.number(source, f"{_CPUS}/cpu{cpu}/topology/physical_package_id")
            package_ids.update(dict.fromkeys(package or (cpu,), _known(number)))
        if cpu not in core_ids:
            number = _sysfs.number(source, f"{_CPUS}/cpu{cpu}/topology/core_id")
            core_ids.update(dict.fromkeys(core or (cpu,), _known(number)))
        rows.append(
            Row(
                cpu,
                online=True,
                package=package_ids.get(cpu),
                core=core_ids.get(cpu),
                node=nodes.get(cpu),
                siblings=core,
                l2=l2.of(cpu),
                l3=l3.of(cpu),
            )
        )
    present = _sysfs.cpus(source, f"{_CPUS}/present") or ()
    rows += [Row(cpu, online=False) for cpu in sorted(set(present) - set(online))]
    return rows


def _known(number: int | None) -> int | None:
    """None for -1, which some architectures write for an unknown number."""
    return None if number is None or number < 0 else number


def _nodes(source: Source) -> dict[int, int]:
    """The NUMA node of each CPU; empty without NUMA files."""
    found = {}
    for name in _sysfs.names(source, _NODES):
        if name.startswith("node") and name[4:].isdecimal():
            cpus = _sysfs.cpus(source, f"{_NODES}/{name}/cpulist")
            if cpus is None:  # cpulist came with Linux 2.6.25
                cpus = _sysfs.mask(source, f"{_NODES}/{name}/cpumap")
            found.update(dict.fromkeys(cpus or (), int(name[4:])))
    return found


class _Shared:
    """CPU sets of one kind; each is read from its first member only."""

    def __init__(self, source: Source, files: tuple[str, ...]) -> None:
        self.source = source
        self.files = files
        self.known: dict[int, tuple[int, ...]] = {}

    def of(self, cpu: int) -> tuple[int, ...] | None:
        if cpu not in self.known:
            found = self.read(cpu)
            if found is None or cpu not in found:
                return None
            self.known.update(dict.fromkeys(found, found))
        return self.known[cpu]

    def read(self, cpu: int) -> tuple[int, ...] | None:
        for file in self.files:
            found = _sysfs.cpus(self.source, f"{_CPUS}/cpu{cpu}/{file}")
            if found is not None:
                return found
        return None


class _Cache(_Shared):
    """The CPU sets of one cache level; the first CPU tells which index has that level."""

    def __init__(self, source: Source, level: int) -> None:
        super().__init__(source, ())
        self.level = level
        self.index: str | None = None

    def read(self, cpu: int) -> tuple[int, ...] | None:
        if self.index is not None:
            found = _sysfs.cpus(self.source, self.path(cpu, self.index))
            if found is not None:
                return found
        folder = f"{_CPUS}/cpu{cpu}/cache"
        for index in _sysfs.names(self.source, folder):
            if (
                index.startswith("index")
                and _sysfs.number(self.source, f"{folder}/{index}/level") == self.level
                and _sysfs.word(self.source, f"{folder}/{index}/type") != "Instruction"
            ):
                self.index = index
                return _sysfs.cpus(self.source, self.path(cpu, index))
        return None

    def path(self, cpu: int, index: str) -> str:
        return f"{_CPUS}/cpu{cpu}/cache/{index}/shared_cpu_list"
