"""Numbers with their units, the same in every pane and command: rates, sizes, counts, times.

Unknown (None) prints as `–`, never as zero. Numbers have about three significant digits.
"""

import re
from collections.abc import Callable
from typing import Final

from .dataclass import dataclass

UNKNOWN: Final = "–"
_SI: Final = ("", "k", "M", "G", "T", "P", "E")
_IEC: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


@dataclass(frozen=True, slots=True)
class Units:
    """The user's choice: rates in bits or bytes, steps of 1000 (SI) or 1024 (IEC)."""

    bits: bool = True
    iec: bool = False

    def rate(self, bytes_per_s: float | None) -> str:
        """Bytes per second as `612.4 Mb/s`, or as `76.6 MB/s` when bytes are wanted."""
        if bytes_per_s is None:
            return UNKNOWN
        value = bytes_per_s * 8 if self.bits else bytes_per_s
        return scaled(value, "b/s" if self.bits else "B/s", iec=self.iec)

    def speed(self, bits_per_s: float | None) -> str:
        """Bits per second (a link, a flow) in the wanted unit."""
        return self.rate(None if bits_per_s is None else bits_per_s / 8)


def scaled(value: float | None, unit: str, *, iec: bool = False) -> str:
    """A value with its prefix and unit: `9.41 Gb/s`, `52.9 kpps`, `0 b/s`."""
    if value is None:
        return UNKNOWN
    step, prefixes = (1024.0, _IEC) if iec else (1000.0, _SI)
    rest, level = abs(float(value)), 0
    while rest >= step * 0.99995 and level < len(prefixes) - 1:
        rest /= step
        level += 1
    number = digits(rest)
    sign = "-" if value < 0 and number != "0" else ""
    return f"{sign}{number} {prefixes[level]}{unit}"


def portion(value: float) -> str:
    """A small share: `0 %`, `0.012 %`, `15.1 %`; what is not nothing is never shown as 0."""
    if 0 < value < 0.5e-5:
        return "<0.001 %"
    return f"{100 * value:.{1 if value >= 0.01 else 3}f} %" if value else "0 %"


def digits(value: float) -> str:
    """About three significant digits, no exponent: `0.02`, `9.41`, `52.9`, `612.4`, `1204`."""
    size = abs(value)
    if size == 0 or size < 0.005:
        return "0"
    places = 2 if size < 10 else 1 if size < 1000 else 0
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text and size < 10 else text.removesuffix(".0")


def link(bits_per_s: float | None) -> str:
    """A nominal link speed: `10 Gb/s`."""
    return scaled(bits_per_s, "b/s")


def packets(per_s: float | None) -> str:
    """Packets per second: `52.9 kpps`."""
    return scaled(per_s, "pps")


def per_second(value: float | None, what: str = "") -> str:
    """A rate that should be read exactly: `1,204 lost/s`."""
    if value is None:
        return UNKNOWN
    number = f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"
    return f"{number} {what}/s" if what else f"{number}/s"


def count(value: float | None) -> str:
    """A count with thousands separators: `1,048,576`."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def brief(value: float | None) -> str:
    """A count in few cells: `52.9k`."""
    return scaled(value, "").replace(" ", "")


def size(value: float | None) -> str:
    """Bytes of memory: `4 MiB`."""
    return scaled(value, "B", iec=True)


def percent(value: float | None) -> str:
    """Percent, without decimals where they do not matter: `0.6%`, `78%`."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f}%" if 0.05 <= abs(value) < 9.95 else f"{value:.0f}%"


def share(ratio: float | None) -> str:
    """A ratio as percent; a very small share is not printed as zero."""
    if ratio is not None and 0 < ratio < 0.0005:
        return "<0.1%"
    return percent(None if ratio is None else ratio * 100)


def seconds(value: float | None) -> str:
    """A time in a readable unit: `45 µs`, `0.2 ms`, `2.5 s`, `3 m 12 s`, `2 h 05 m`."""
    if value is None:
        return UNKNOWN
    if value < 0:
        return f"-{seconds(-value)}"
    if value < 0.0001:
        return f"{digits(value * 1e6)} µs"
    if value < 1:
        return f"{digits(value * 1e3)} ms"
    if value < 60:
        return f"{digits(value)} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    if whole < 172800:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} m"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def amount(value: object, unit: str = "") -> str:
    """A value of a fact with its declared unit, scaled where the unit takes prefixes (`Mbit/s`)."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return " ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    known = AMOUNTS.get(unit)
    if known is not None:
        return known(value)
    number = (
        count(value) if value == int(value) else digits(value) if value < 1000 else count(value)
    )
    return f"{number} {_agreed(number, unit)}".rstrip()


AMOUNTS: Final[dict[str, Callable[[float], str]]] = {
    "bit/s": lambda v: scaled(v, "b/s"),
    "bytes/s": lambda v: scaled(v * 8, "b/s"),
    "bytes": size,
    "s": seconds,
    "us": lambda v: seconds(v / 1e6),
    "ns": lambda v: seconds(v / 1e9),
    "Hz": lambda v: scaled(v, "Hz"),
    "%": percent,
    "ratio": share,
}


def many(number: float, what: str) -> str:
    """A count with its noun, whose plural is given: `1 host`, `2,000 hosts`, `1 smaller entry`."""
    text = count(number)
    return f"{text} {_agreed(text, what)}"


def _agreed(number: str, plural: str) -> str:
    """The noun, or the unit, that a number has: `packet` or `packets/s`."""
    if number != "1":
        return plural
    words, each = plural.removesuffix("/s"), "/s" * plural.endswith("/s")
    return f"{_PLURAL.sub(_singular, words)}{each}"


_PLURAL: Final = re.compile(r"(?<=\w\w)(?:(ies)|(?<=ss|ch|sh)es|(?<=x)es|(?<!s)s)$")


def _singular(ending: re.Match[str]) -> str:
    return "y" if ending[1] else ""
