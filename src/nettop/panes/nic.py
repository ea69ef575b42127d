"""NIC: every setting with its value, limit and recommendation; hardware and counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from ..files import own
from ..terms.dataclass import DataclassInstance, dataclass
from ..terms.text import Line, fit, fit_line, line
from ..terms.units import link, scaled
from ..views.ask import Hint
from ..views.scene import Scene, nic_of
from ..views.view import View, under
from . import graph, interfaces, niccounters
from .frame import abreast, enclosed, filled, part, roomy
from .parts import Cell, Column, Order, fitted, listing, marked, matches, ordered, section, waiting

if TYPE_CHECKING:
    from ..facts.kinds.nic import Nic

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
BOUND = FILTERED = True
SHORT: Final = 16  # columns of the name of a setting at least
MOST: Final = 30  # lines of the graph at the most
WIDE: Final = 100  # columns from which the settings are beside the rest


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


def _of(nic: Nic, group: str, value: DataclassInstance, names: str) -> Iterator[Setting]:
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


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:
    """Setting a value, where the driver offers another."""
    if nic_of(scene, view) is None:
        return ()
    can = here and may_set(scene) and not fixed(scene, here)
    known = (Hint("Enter", "set", "enter"),) if can else ()
    return (*known, Hint("i", "next", "interface"), Hint("/", "filter", "filter"),
            Hint("R", "raw", "driver_names"), Hint(">", "sort", "sort"))  # fmt: skip


def may_set(scene: Scene) -> bool:
    """Whether a value can be set: not in a recording, nor in the demo."""
    return not scene.fixed and not scene.plays


def setting(here: str) -> str:
    """The setting under the cursor."""
    return here


def _setting(scene: Scene, here: str) -> Setting | None:
    """The setting of that address."""
    name = here.rpartition("@")[2]
    nics = scene.facts.nics if scene.facts is not None else ()
    known = (one for nic in nics if nic.name == name for one in settings(nic))
    return next((one for one in known if one.address == here), None)


def value(scene: Scene, here: str) -> str:
    """The present value of the setting."""
    one = _setting(scene, here)
    return one.now if one is not None else ""


def fixed(scene: Scene, here: str) -> str:
    """Why the setting cannot be changed: the driver offers no other value."""
    name = here.rpartition("@")[2]
    one = _setting(scene, here)
    only = one is not None and one.settable != "yes"
    return f"the driver of {name} offers no other value for {here}" if only else ""


def command(here: str) -> str:
    """The command that reads the setting."""
    return f"{own.called()} get {here}" if here else ""


def state(nic: Nic) -> str:
    """The state of the link: speed and duplex, or that it is down or there is none."""
    if interfaces.state(nic):
        return interfaces.state(nic).upper()
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
        ("link", state(nic), "bad" if nic.carrier is False else ""),
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


def columns(width: int) -> tuple[Column, ...]:
    """The columns; where there is little room a short name leaves both values."""
    name, now, limit, better, unit = COLUMNS
    if width >= sum(one.width + 1 for one in (name, now, limit, better)):
        return COLUMNS
    short = replace(name, width=max(SHORT, width - now.width - better.width - 4))
    return short, now, replace(limit, width=width), better, replace(unit, width=width)


def listed(view: View, shown: Sequence[Setting], width: int, height: int) -> list[Line]:
    """The heading, and the settings around the cursor."""
    table = fitted(columns(width), width, view.columns.get("nic", ()))
    cursor = under(tuple(one.address for one in shown), view.spot)
    rows = [table.row(setting_cells(one)) for one in shown]
    title, down = marked(ORDERS, view.spot)
    return [table.heading(title, down=down), *listing(rows, cursor, width, height - 1)]


def about(scene: Scene, view: View, nic: Nic, width: int, height: int) -> list[Line]:
    """Hardware, counters and queues, in about `height` lines."""
    out = [
        fit_line(line((fit(f" {label}", 11), "dim"), (text, role)), max(20, width))
        for label, text, role in identity(nic, scene)
    ]
    name = "COUNTERS (driver's own names)" if view.driver_names else "COUNTERS"
    out.append(section(name, "R raw" if not view.driver_names else "R normalised", width))
    out += niccounters.counters(scene, view, width)
    out += niccounters.queues(scene, nic, width, height - len(out))
    drawn = graph.lines(scene, nic, width - 1, min(height - len(out) - 1, MOST))
    return out + ([section("RATES", graph.title(scene, nic), width), *drawn] if drawn else [])


def absent(view: View, nic: Nic, width: int) -> list[Line]:
    """The line that says that the chosen interface is not there, and another one is shown."""
    if view.nic in ("", nic.name):
        return []
    text = f" ! {view.nic} is not there now: this is {nic.name}"
    return [fit_line(line((text, "warn")), width)]


def framed(scene: Scene, view: View, nic: Nic, width: int, height: int) -> list[Line]:
    """Rates and losses; below them settings at the left, the rest at the right, in frames."""
    keys = "   i next" if scene.facts is not None and len(scene.facts.nics) > 1 else ""
    sets = "Enter sets" * may_set(scene)
    upper = [*absent(view, nic, width - 2), interfaces.rates(nic, scene.units, width - 2)]
    upper += niccounters.losses(nic, width - 2)
    out = part(f"NIC {nic.name} · {scene.last}", f"{interfaces.title(nic)}{keys}", upper, width)
    half, room = width * 11 // 20, height - len(out)
    shown = rows_of(scene, view)
    better = sum(bool(one.better) for one in shown)
    remark = "   ".join(filter(None, (f"{better} can be better" if better else "", sets)))
    left = part(
        f"SETTINGS {len(shown)}",
        remark,
        filled(listed(view, shown, half - 2, room - 2), room - 2, framed=True),
        half,
    )
    right = enclosed(about(scene, view, nic, width - half - 2, room - 2), width - half, room,
                     "HARDWARE")  # fmt: skip
    return [*out, *abreast(left, right)]


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """Settings at the left; hardware, counters and queues at the right."""
    if scene.facts is None:
        return waiting(scene, width)
    nic = nic_of(scene, view)
    if nic is None:
        return [fit_line(line((" no interface", "dim")), width)]
    if not roomy(width, height):
        return _rows(scene, view, nic, width, height)
    if width >= WIDE:
        return framed(scene, view, nic, width, height)
    return enclosed(_rows(scene, view, nic, width - 2, height - 1), width, height)


def _rows(scene: Scene, view: View, nic: Nic, width: int, height: int) -> list[Line]:
    """The lines of the pane, without frames."""
    others = len(scene.facts.nics) if scene.facts is not None else 0
    keys = "  ".join(filter(None, ("Enter sets" * may_set(scene), "i next" * (others > 1))))
    out = [
        section(
            f"NIC {nic.name} · {scene.last}", f"{interfaces.title(nic)}   {keys}".rstrip(), width
        )
    ]
    out += [*absent(view, nic, width), interfaces.rates(nic, scene.units, width)]
    out += niccounters.losses(nic, width)
    shown = rows_of(scene, view)
    half = width if width < WIDE else width * 11 // 20
    room = height - len(out)
    if half < width:
        left = listed(view, shown, half - 1, room)
        right = about(scene, view, nic, width - half, room)
        for index in range(min(room, max(len(left), len(right)))):
            first = (
                fit_line(left[index], half - 1) if index < len(left) else ((" " * (half - 1), ""),)
            )
            second = right[index] if index < len(right) else ()
            out.append((*first, ("│", "faint"), *fit_line(second, width - half)))
    else:
        out += listed(view, shown, width, max(3, room * 6 // 10))
        out.append(section("COUNTERS", "R raw", width))
        out += niccounters.counters(scene, view, width)
    return [fit_line(one, width) for one in out[:height]]
