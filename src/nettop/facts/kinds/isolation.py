"""CPUs that are isolated for one program, and the network interrupts that they handle."""

from __future__ import annotations

from typing import Final

from ...frame.fields import gauge
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind

COUNTED: Final = 10.0  # interrupts a second: fewer do not disturb


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolated CPUs of the host."""

    cpus: tuple[int, ...] = gauge("isolated CPUs (isolcpus, nohz_full)", default=())
    interrupted: tuple[int, ...] = gauge("isolated CPUs with NIC queue interrupts", default=())
    nics: tuple[str, ...] = gauge("NICs whose interrupts they handle", default=())


def build(frame: Frame, facts: Facts) -> tuple[Isolation, ...]:
    """One fact where CPUs are isolated."""
    cpus = {cpu for row in frame.rows("isolation") for cpu in (*row.isolated, *row.tickless)}
    hit = [c for c in facts.cores if c.cpu in cpus and (c.nic_irqs or 0.0) > COUNTED]
    return (
        (
            Isolation(
                tuple(sorted(cpus)),
                tuple(core.cpu for core in hit),
                tuple(sorted({nic for core in hit for nic in core.nics})),
            ),
        )
        if cpus
        else ()
    )


KIND = Kind(
    Isolation, "isolations", needs=("isolation",), build=build, key=lambda _one: "cpus",
    target=lambda _one: "cpus",
)  # fmt: skip
