"""The CPUs that may serve an interrupt: /proc/irq/N/smp_affinity_list.

The target is a queue (`eth0/rx-0`), an interrupt's name on a device (`eth0/irq:NAME`), or a
number. A name is looked up at every read and write, because numbers move when a driver reloads its
queues (kernel/irq/proc.c; a managed interrupt refuses with EIO).
"""

import contextlib
import re

from ..collect import interrupts
from ..host.source import Source
from ..terms.cpulist import parse as parse_list
from ..terms.irqname import actions, places
from . import Address, Command, Host, Keep, Limits, _device
from ._text import cpu_range, ranges, some_cpus, some_online

RISK = "none"
NIC = True
NAMES = ("affinity",)
TARGETS = re.compile("[0-9]{1,9}|/((rx|tx)-[0-9]{1,5}|irq:.+)")
EXAMPLE = "eth0/rx-0"
TEXT = NAMES
normal = some_cpus
validate = some_online


def lines(source: Source) -> dict[int, tuple[str, ...]]:
    """The actions of every numbered interrupt; names may hold spaces."""
    rows = interrupts.update(source, {})
    return {int(row.irq): actions(row.name) for row in rows if row.irq.isdigit()}


def number(source: Source, address: Address) -> int:
    """The current number of the interrupt; LookupError names those that exist."""
    if address.target.isdigit():
        return int(address.target)
    every = lines(source)
    part = address.part
    own = of(source, address.nic, every)
    if part.startswith("irq:"):
        name = part.removeprefix("irq:")
        for irq in own or every:
            if name in every.get(irq, ()):
                return irq
        raise LookupError(f"no interrupt {name!r} belongs to {address.nic}")
    by_name = {name: irq for irq in own for name in every.get(irq, ())}
    for name, place in places(by_name).items():
        if place.number is None:
            continue
        ways = ("rx", "tx") if place.direction == "rxtx" else (place.direction,)
        if part in [f"{way}-{place.number}" for way in ways]:
            return by_name[name]
    known = ", ".join(sorted(by_name)) or "none"
    raise LookupError(f"no interrupt is known for {address.target}; {address.nic} has: {known}")


def of(source: Source, nic: str, every: dict[int, tuple[str, ...]] | None = None) -> list[int]:
    """The interrupts of an interface: those of its device in sysfs, else those with its name."""
    device = f"/sys/class/net/{nic}/device"
    for folder in (f"{device}/msi_irqs", f"{device}/../msi_irqs"):
        try:
            listed = [int(name) for name in source.listing(folder) if name.isdigit()]
        except OSError:
            continue
        if listed:
            return sorted(listed)
    if every is None:
        every = lines(source)
    owners = {nic}
    with contextlib.suppress(OSError):
        owners.add(source.link(device).rpartition("/")[2])
    return [n for n, names in every.items() if any(_owner(name) in owners for name in names)]


def _owner(name: str) -> str:
    return next(iter(places([name]).values())).owner


def read(source: Source, address: Address) -> str:
    """The list of CPUs that may serve it."""
    irq = number(source, address)
    try:
        return ranges(parse_list(source.text(f"/proc/irq/{irq}/smp_affinity_list")))
    except FileNotFoundError:
        raise FileNotFoundError(2, f"there is no interrupt {irq}") from None


def write(host: Host, address: Address, value: str) -> None:
    """Write the list; the kernel needs at least one CPU that is online."""
    irq = number(host.source, address)
    try:
        host.write(f"/proc/irq/{irq}/smp_affinity_list", value)
    except OSError as error:
        if error.errno == 5:
            raise OSError(
                5, "the kernel manages this interrupt itself: it cannot be moved"
            ) from None
        raise


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """`echo` into the file of the interrupt, by its current number."""
    try:
        irq: int | str = number(source, address)
    except (LookupError, OSError):
        irq = "NUMBER"
    return (Command(path=f"/proc/irq/{irq}/smp_affinity_list", text=value),)


# Interrupt numbers differ at every boot, so the script finds the number by the name of the line.
# The name is only compared.
_BY_NAME = """while read -r irq rest; do
  case $rest in *" $1") %s "/proc/irq/${irq%%:}/smp_affinity_list"; exit ;; esac
done < /proc/interrupts
echo "there is no interrupt $1" >&2
exit 1"""
_SHOW, _WRITE = _BY_NAME % "cat", _BY_NAME % 'echo "$2" >'


def portable(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """A command that finds the interrupt by its name when it runs."""
    return (Command(("sh", "-c", _WRITE, "sh", _last(source, address), value)),)


def shows(source: Source, address: Address) -> tuple[str, ...]:
    """The command that finds the interrupt by its name and prints its CPUs."""
    return ("sh", "-c", _SHOW, "sh", _last(source, address))


def _last(source: Source, address: Address) -> str:
    """The name that ends its line; LookupError when it has none."""
    names = lines(source).get(number(source, address), ())
    if not names:
        raise LookupError(f"{address} has no name that would be found again")
    return names[-1]


def identity(source: Source, address: Address) -> str:
    """The interface's device, or the names on a bare number."""
    if address.target.isdigit():
        return "actions " + ", ".join(lines(source).get(int(address.target), ()))
    return _device.identity(source, address.nic)


def keep(address: Address, value: str) -> Keep | None:  # noqa: ARG001
    """A oneshot unit where the target has a name: interrupt numbers change at boot."""
    return None if address.target.isdigit() else Keep("unit")


def limits(source: Source, address: Address) -> Limits:
    """Any CPU of the host."""
    read(source, address)
    return Limits(default=ranges(cpu_range(source)))
