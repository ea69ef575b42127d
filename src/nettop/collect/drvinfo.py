"""The driver of each interface: ETHTOOL_GDRVINFO (net/ethtool/ioctl.c) and the driver table."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import driver, route
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _drivers as drivers
from ._table import Memory, Table
from ._turns import by_turns

TABLE: Final = Table(every=30.0)


@dataclass(frozen=True, slots=True)
class Row:
    """The driver of one interface. Since Linux 5.x the version of most is that of the kernel."""

    interface: str = label("interface name")
    driver: str = gauge("kernel driver")
    version: str | None = maybe("driver version")
    firmware: str | None = maybe("firmware version")
    bus: str | None = maybe("bus address, e.g. 0000:41:00.0")
    title: str | None = maybe("description; None: not in the driver table")
    para: bool | None = maybe("paravirtual device")
    arfs: bool | None = maybe("accelerated RFS support")
    fcs_counted: bool | None = maybe("byte counters include the frame check sequence")
    link_ring: str | None = maybe(
        "link statistic that counts only packets lost at a full ring; empty: none does; "
        "None: driver not in the table"
    )
    ring_drops_unless: str | None = maybe(
        "pause with which a full ring shows in the receive FIFO: rx or tx"
    )
    dynamic_usecs: tuple[int, ...] | None = maybe(
        "values of rx-usecs that select dynamic moderation, not a delay"
    )
    notes: str | None = maybe("notes on its counters")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every interface whose driver reports its name; OSError without ethtool."""
    names = route.names(source).values()
    return by_turns(source, memory, names, partial(_driver, source))


def _driver(source: Source, interface: str) -> Row | None:
    try:
        return row(interface, driver.info(source, interface))
    except OSError:
        return None


def row(interface: str, info: driver.Info) -> Row:
    """The row of struct ethtool_drvinfo, with the values of the driver table; empty text: None."""
    about = drivers.known(info.driver)
    return Row(
        interface=interface,
        driver=info.driver,
        version=info.version or None,
        firmware=None if info.firmware in {"", "N/A"} else info.firmware,
        bus=info.bus or None,
        title=about.title if about else None,
        para=about.para if about else None,
        arfs=about.arfs if about else None,
        fcs_counted=about.fcs_counted if about else None,
        link_ring=about.link_ring if about else None,
        ring_drops_unless=about.ring_drops_unless or None if about else None,
        dynamic_usecs=about.dynamic_usecs or None if about else None,
        notes=about.notes or None if about else None,
    )
