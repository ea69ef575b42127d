"""NIC: every setting with its value, limit and recommendation; hardware and counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from ..terms import cpulist
from ..terms.text import Line, clauses, fit, fit_line, line
from ..terms.units import amount, count, link, packets, per_second, scaled, share
from ..views.ask import Hint
from ..views.scene import Scene, View, nic_of, under
from . import path
from .parts import Cell, Column, heading, listing, matches, row, section, waiting, widths
from .table import Order, fitted, marked, ordered

if TYPE_CHECKING:
    from ..facts.kinds.nic import Channels, Coalesce, Nic, Pause, Ring
    from ..facts.kinds.queue import Queue

TITLE = "NIC"
KEY = "3"
LEGEND: Final = (
    "LIMIT is the maximum of the driver; fixed: the driver cannot change it. ▸ is the value that a "
    "finding recommends."
)
NEEDS: tuple[str, ...] = (
    "nicstats_raw", "ethstats", "module", "fec", "linkmodes", "links", "qdiscs",
)  # fmt: skip
DRAWS: Final = ("drvinfo", "ethstats", "nicstats_raw")
COLUMNS: Final = (
    Column("SETTING", 29, grow=2),
    Column("NOW", 9, ">", grow=1),
    Column("LIMIT", 8, ">"),
    Column("BETTER", 9),
    Column("UNIT", 11, grow=1),
)
BOUND = True
_BAD_WORDS: Final = ("drop", "err", "miss", "discard", "lost")
_BAD: Final = frozenset(
    "rx_dropped tx_dropped rx_missed ring_drops alloc_fails phy_errors length_errors phy_discards"
    " tx_timeouts qdisc_drops allowance_bw_in allowance_bw_out allowance_pps"
    " allowance_conntrack allowance_linklocal xdp_fails fec_lost".split()
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One tunable of the interface as the pane shows it."""

    address: str
    now: str
    most: str = ""
    settable: str = "yes"
    unit: str = ""
    better: str = ""  # the value that a finding recommends, if it differs

    @property
    def limit(self) -> str:
        """The maximum of the driver; `fixed` or `only N` if the value cannot be changed."""
        if self.settable == "yes":
            return self.most
        return f"only {self.most}" if self.most else "fixed"


def _value(text: str) -> str | None:
    """A sort key: numbers by size, then words; None for no text."""
    return text.rjust(20) if text.isdigit() else text or None


ORDERS: Final[Sequence[Order[Setting]]] = (
    Order("", lambda one: float(bool(one.better))),
    Order("SETTING", lambda one: one.address, down=False),
    Order("NOW", lambda one: _value(one.now), down=False),
    Order("LIMIT", lambda one: _value(one.limit), down=False),
    Order("BETTER", lambda one: _value(one.better), down=False),
    Order("UNIT", lambda one: one.unit or None, down=False),
)


def orders(view: View) -> tuple[str, ...]:  # noqa: ARG001
    """The columns that the settings can be sorted by."""
    return tuple(one.title for one in ORDERS)


def _of(
    nic: Nic, group: str, value: Ring | Channels | Coalesce | Pause, names: str
) -> Iterator[Setting]:
    for name in names.split():
        fact = name.replace("-", "_")
        now = getattr(value, fact)
        if now is None:
            continue
        most = getattr(value, f"{fact}_max", None)
        text = ("on" if now else "off") if isinstance(now, bool) else str(now)
        unit = next((f.metadata.get("unit", "") for f in fields(value) if f.name == fact), "")
        yes = "only" if most is not None and now == most and most <= 1 else "yes"
        yield Setting(
            f"{group}.{name}@{nic.name}", text, "" if most is None else str(most), yes, unit
        )


def settings(nic: Nic) -> list[Setting]:
    """The settings of this interface, without those that the driver does not offer."""
    out = [
        *_of(nic, "ring", nic.ring, "rx tx rx-jumbo rx-mini"),
        *_of(nic, "channels", nic.channels, "combined rx tx"),
        *_of(
            nic,
            "coalesce",
            nic.coalesce,
            "adaptive-rx adaptive-tx rx-usecs rx-frames tx-usecs tx-frames",
        ),
        *_of(nic, "pause", nic.pause, "autoneg rx tx"),
    ]
    if nic.mtu is not None:
        most = "" if nic.max_mtu is None else str(nic.max_mtu)
        out.append(Setting(f"link.mtu@{nic.name}", str(nic.mtu), most, unit="bytes"))
    if nic.txqueuelen is not None:
        out.append(Setting(f"link.txqueuelen@{nic.name}", str(nic.txqueuelen), unit="packets"))
    if nic.qdisc:
        out.append(Setting(f"qdisc.root@{nic.name}", nic.qdisc))
    for name, value, unit in (
        ("threaded", nic.threaded, ""),
        ("defer-hard-irqs", nic.defer_hard_irqs, "polls"),
        ("gro-flush-timeout", nic.gro_flush_timeout, "ns"),
    ):
        if value is not None:
            text = ("on" if value else "off") if isinstance(value, bool) else str(value)
            out.append(Setting(f"napi.{name}@{nic.name}", text, unit=unit))
    for name in ("gso_max_size", "gro_max_size"):
        value = getattr(nic, name)
        if value is not None:
            out.append(
                Setting(f"link.{name.replace('_', '-')}@{nic.name}", str(value), unit="bytes")
            )
    for feature in nic.features:
        can = "fixed" if feature.fixed else "yes"
        out.append(
            Setting(f"feature.{feature.name}@{nic.name}", "on" if feature.on else "off", "", can)
        )
    return out


def recommended(scene: Scene) -> dict[str, str]:
    """The values that findings recommend, by address."""
    plans = {step.setting: step.after for steps in scene.plans.values() for step in steps}
    wanted = {w.setting: str(w.value) for f in scene.findings for w in f.wanted}
    return {**wanted, **plans}


def rows_of(scene: Scene, view: View) -> list[Setting]:
    """The settings that match the filter; by default those with a recommendation first."""
    nic = nic_of(scene, view)
    if nic is None:
        return []
    better = recommended(scene)
    rows = [s for s in settings(nic) if matches(view.spot.filter, s.address)]
    wanted = [better.get(s.address, s.now) for s in rows]
    rows = [replace(s, better=b) if b != s.now else s for s, b in zip(rows, wanted, strict=True)]
    return ordered(rows, ORDERS, view.spot)


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The addresses of the settings in the order shown."""
    return tuple(setting.address for setting in rows_of(scene, view))


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:  # noqa: ARG001
    """Setting a value."""
    may = scene.distant or not scene.origin
    known = (Hint("Enter", "set", "enter"),) if here and may else ()
    return (*known, Hint("i", "interface", "interface"), Hint("/", "filter", "filter"),
            Hint("R", "raw", "driver_names"), Hint(">", "sort", "sort"))  # fmt: skip


def setting(here: str) -> str:
    """The setting under the cursor."""
    return here


def command(here: str) -> str:
    """The command that reads the setting."""
    return f"nettop get {here}" if here else ""


def state(nic: Nic) -> str:
    """The state of the link: speed and duplex, or that it is down or there is none."""
    if path.state(nic):
        return path.state(nic).upper()
    parts = [link(nic.speed) if nic.speed else "", nic.duplex if nic.speed and nic.duplex else ""]
    return " ".join(filter(None, parts)) or ("up, no nominal speed" if nic.carrier else "unknown")


def identity(nic: Nic, scene: Scene) -> list[tuple[str, str, str]]:
    """Hardware and place of the interface: label, text, role."""
    pcie = nic.pcie
    slot = ""
    if pcie.width is not None and pcie.speed is not None:
        slot = f"{pcie.speed:g} GT/s × {pcie.width}"
        if pcie.usable:
            slot += f", carries {scaled(pcie.usable, 'b/s')}"
    narrow = pcie.width is not None and pcie.max_width is not None and pcie.width < pcie.max_width
    if narrow:
        slot += f" of × {pcie.max_width}"
    queues = f"{nic.rx_queues or '?'} receive, {nic.tx_queues or '?'} send, {nic.irqs} interrupts"
    power = None if nic.module_power is None else f"{nic.module_power:.1f} dBm received"
    rows = [
        ("driver", " ".join(filter(None, (nic.driver or nic.kind, nic.driver_version))), ""),
        ("firmware", nic.firmware or "", ""),
        (
            "link",
            state(nic),
            "bad" if nic.carrier is False else "",
        ),
        ("FEC", nic.fec or "", ""),
        ("optics", power or "", ""),
        ("bus", nic.bus or "", ""),
        ("slot", slot, "bad" if narrow else ""),
        ("node", "" if nic.node is None else f"{nic.node}, {nic.node_cores or '?'} cores near", ""),
        ("queues", queues, ""),
        ("addresses", " ".join(nic.addresses), ""),
        ("MAC", nic.address or "", ""),
        ("member of", nic.master or "", ""),
        ("over", " ".join(nic.lower), ""),
        ("SSH", "carries this session" if nic.carries_ssh else "", "warn"),
    ]
    if scene.frame is not None:
        own = [r for r in scene.frame.rows("drvinfo") if getattr(r, "interface", None) == nic.name]
        rows += [
            ("version", str(getattr(r, "version", "")), "")
            for r in own[:1]
            if not nic.driver_version
        ]
    return [row for row in rows if row[1]]


def counters(scene: Scene, view: View, width: int) -> list[Line]:
    """Counters with rate and total: drop counters that rise first, idle counters last."""
    nic = nic_of(scene, view)
    if nic is None:
        return []
    columns = (
        Column(" counter", 16, grow=1),
        Column("per second", 15, ">"),
        Column("total since creation", 20, ">"),
    )
    sizes = widths(columns, width)
    rows: list[tuple[tuple[bool, bool, str], Line]] = []
    every = list(_values(scene, view, nic))
    named = [one for one in every if matches(view.spot.filter, one[0])]
    for name, rate, total, bad in named or every:  # a filter may be meant for the settings alone
        role = "bad" if bad and rate else "warn" if bad and total else "" if rate else "dim"
        each = scene.units.rate(rate) if name in ("rx_bytes", "tx_bytes") else per_second(rate)
        text = row(((f" {name}", role), (each, role), (count(total), role)), columns, sizes)
        rows.append(((not (bad and rate), not rate, name), text))
    rows.sort(key=lambda pair: pair[0])
    head = [heading(columns, sizes)]
    if nic.link_only and not view.driver_names:
        head.append(fit_line(line((" drops not by kind: link statistics only", "warn")), width))
    return [*head, *(text for _, text in rows)]


def _values(
    scene: Scene, view: View, nic: Nic
) -> Iterator[tuple[str, float | None, float | None, bool]]:
    """Each counter: name, rate per second, total, whether it counts drops or errors."""
    if view.driver_names and scene.frame is not None:
        tables = scene.frame.tables
        for entry in (*tables.get("nicstats_raw", ()), *tables.get("ethstats", ())):
            now = entry.now
            if now.interface == nic.name:
                value = now.value if now.value is not None else now.level
                bad = any(word in now.name.lower() for word in _BAD_WORDS)
                yield now.name, entry.rate("value"), value, bad
        return
    for field in fields(nic.total):
        rate, total = getattr(nic.per_s, field.name), getattr(nic.total, field.name)
        if rate is not None or total is not None:
            yield field.name, rate, total, field.name in _BAD


def queues(scene: Scene, nic: Nic, width: int, height: int) -> list[Line]:
    """The interface's queues: the core of each, and its share of the packets."""
    own = [q for q in (scene.facts.queues if scene.facts else ()) if q.nic == nic.name]
    if height < 4 or not own:
        return []
    columns = (
        Column(" queue", 10, grow=1), Column("IRQ", 5, ">"), Column("core", 5, ">"),
        Column("interrupts", 10, ">"), Column("packets", 10, ">"), Column("share", 6, ">"),
        Column("RPS, XPS", 12, grow=2),
    )  # fmt: skip
    sizes = widths(columns, width)
    busiest = sorted(own, key=lambda q: (-(q.packets_per_s or 0.0), q.direction, q.number))
    out = [section("QUEUES", f"{count(len(own))}, busiest first", width)]
    out.append(heading(columns, sizes))
    return out + [row(queue_cells(queue), columns, sizes) for queue in busiest[: height - 2]]


def queue_cells(queue: Queue) -> tuple[Cell, ...]:
    """The cells of one queue, one per column."""
    return (
        f" {queue.name}",
        (amount(queue.irq), "dim"),
        (amount(queue.cpu), "warn" if queue.off_node else ""),
        per_second(queue.irq_per_s),
        packets(queue.packets_per_s),
        share(queue.share),
        (cpulist.text(queue.rps_cpus), "key"),
    )


def setting_cells(setting: Setting) -> tuple[Cell, ...]:
    """The cells of one setting, one per column."""
    name = setting.address.rsplit("@", 1)[0]
    fixed = setting.settable != "yes"
    return (
        (name, "warn" if setting.better else "dim" if fixed else ""),
        (setting.now, "strong" if not fixed else "dim"),
        (setting.limit, "dim"),
        (f"▸ {setting.better}" if setting.better else "", "good"),
        (setting.unit, "dim"),
    )


def losses(nic: Nic, width: int) -> list[Line]:
    """One line with the drop and error counters that rise, the fastest first; [] for none."""
    rising = [(rate, name) for name in _BAD if (rate := getattr(nic.per_s, name, None))]
    texts = [f"{name} {per_second(rate)}" for rate, name in sorted(rising, reverse=True)]
    text = f" ✗ {clauses(' · '.join(texts), width - 4)}"
    return [fit_line(line((text, "bad")), width)] if texts else []


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """Settings at the left; hardware, counters and queues at the right."""
    waits = waiting(scene.facts, width)
    if waits is not None or scene.facts is None:
        return waits or []
    nic = nic_of(scene, view)
    if nic is None:
        return [fit_line(line((" no interface", "dim")), width)]
    others = len(scene.facts.nics)
    keys = "Enter sets  i next" if others > 1 else "Enter sets"
    out = [section(f"NIC {nic.name}", f"{path.title(nic)}   {keys}", width)]
    out.append(path.rates(nic, scene.units, width))
    out += losses(nic, width)
    shown = rows_of(scene, view)
    half = width if width < 100 else width * 11 // 20
    table = fitted(COLUMNS, half - 1, view.columns.get("nic", ()))
    cursor = under(tuple(s.address for s in shown), view.spot)
    rows = [table.row(setting_cells(s)) for s in shown]
    title, down = marked(ORDERS, view.spot)
    head = table.heading(title, down=down)
    side = [
        fit_line(line((fit(f" {label}", 11), "dim"), (text, role)), max(20, width - half))
        for label, text, role in identity(nic, scene)
    ]
    room = height - len(out)
    if half < width:
        left = [head, *listing(rows, cursor, half - 1, room - 1)]
        name = "COUNTERS (driver's own names)" if view.driver_names else "COUNTERS"
        right = [
            *side,
            section(name, "R raw" if not view.driver_names else "R normalised", width - half),
        ]
        right += counters(scene, view, width - half)
        right += queues(scene, nic, width - half, room - len(right))
        for index in range(min(room, max(len(left), len(right)))):
            first = (
                fit_line(left[index], half - 1) if index < len(left) else ((" " * (half - 1), ""),)
            )
            second = right[index] if index < len(right) else ()
            out.append((*first, ("│", "faint"), *fit_line(second, width - half)))
    else:
        own = max(3, room * 6 // 10)
        out += [head, *listing(rows, cursor, width, own - 1)]
        out.append(section("COUNTERS", "R raw", width))
        out += counters(scene, view, width)
    return [fit_line(one, width) for one in out[:height]]
