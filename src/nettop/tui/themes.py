"""Colours of the roles, by theme. No information is in colours alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.style import Style

SHADES: Final = 6  # of a graph, from the row at its axis to its top
_GRADIENTS: Final = {  # of rates received and sent: the colours at the axis and at the top
    "dark": (("#218f6f", "#86e86f"), ("#3f74e0", "#5fe3e0")),
    "light": (("#4f9d69", "#0b4f24"), ("#3f8fd0", "#0a3f7a")),
    "contrast": (("#00b36b", "#9cff66"), ("#3f8cff", "#66ffff")),
    "colourblind": (("#1d8a72", "#5fe6c0"), ("#3a6fd8", "#8fd0ff")),
}
# each theme: background, foreground, and the roles that differ from plain text
_RGB: Final[dict[str, dict[str, str]]] = {
    "dark": {
        "bg": "#10141a",
        "fg": "#c9d1d9",
        "strong": "#f0f6fc",
        "dim": "#7d8894",
        "faint": "#333c47",
        "head": "#9fb0c3",
        "title": "#79c0ff",
        "key": "#e3b341",
        "accent": "#56d4dd",
        "good": "#56d364",
        "warn": "#e3b341",
        "bad": "#ff7b72",
        "softirq": "#f778ba",
        "irq": "#ff9e64",
        "system": "#58a6ff",
        "user": "#56d364",
        "steal": "#d2a8ff",
        "idle": "#39424e",
        "select": "#1f3a5f",
        "bar": "#1b222c",
    },
    "light": {
        "bg": "#fbfcfd",
        "fg": "#24292f",
        "strong": "#000000",
        "dim": "#5f6b78",
        "faint": "#cfd6dd",
        "head": "#44515f",
        "title": "#0550ae",
        "key": "#8a4b00",
        "accent": "#0a6c74",
        "good": "#116329",
        "warn": "#8a4b00",
        "bad": "#b3202c",
        "softirq": "#a0256f",
        "irq": "#b04a00",
        "system": "#0b57c4",
        "user": "#1a7f37",
        "steal": "#6f3ac0",
        "idle": "#c6ced6",
        "select": "#cfe4ff",
        "bar": "#eaeef2",
    },
    "contrast": {
        "bg": "#000000",
        "fg": "#ffffff",
        "strong": "#ffffff",
        "dim": "#c8c8c8",
        "faint": "#707070",
        "head": "#ffffff",
        "title": "#00ffff",
        "key": "#ffff00",
        "accent": "#00ffff",
        "good": "#00ff66",
        "warn": "#ffff00",
        "bad": "#ff5f5f",
        "softirq": "#ff66ff",
        "irq": "#ffaa00",
        "system": "#66b3ff",
        "user": "#00ff66",
        "steal": "#dd99ff",
        "idle": "#808080",
        "select": "#0000c0",
        "bar": "#202020",
    },
    "colourblind": {  # Okabe and Ito's palette: no contrast of red and green
        "bg": "#11151c",
        "fg": "#d0d6de",
        "strong": "#ffffff",
        "dim": "#8a94a0",
        "faint": "#363f4a",
        "head": "#a9b8c9",
        "title": "#56b4e9",
        "key": "#f0e442",
        "accent": "#56b4e9",
        "good": "#4fb3ff",
        "warn": "#f0e442",
        "bad": "#ff8c42",
        "softirq": "#cc79a7",
        "irq": "#e69f00",
        "system": "#56b4e9",
        "user": "#2bbf9b",
        "steal": "#f0e442",
        "idle": "#3c4652",
        "select": "#123f63",
        "bar": "#1c232d",
    },
}
_ANSI: dict[str, str] = {  # the terminal's own sixteen colours
    "strong": "bold",
    "dim": "bright_black",
    "faint": "bright_black",
    "head": "bold",
    "title": "bold cyan",
    "key": "yellow",
    "accent": "cyan",
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
    "softirq": "magenta",
    "irq": "yellow",
    "system": "blue",
    "user": "green",
    "steal": "bright_magenta",
    "idle": "bright_black",
    "select": "reverse",
    "select-good": "reverse",
    "select-warn": "reverse",
    "select-bad": "reverse bold",
    "brand": "reverse bold",
    "alarm": "reverse bold red",
    "input": "reverse",
}
_ANSI |= {
    f"rx-{shade}": "green" if shade < SHADES // 2 else "bright_green" for shade in range(SHADES)
}
_ANSI |= {
    f"tx-{shade}": "cyan" if shade < SHADES // 2 else "bright_cyan" for shade in range(SHADES)
}
_MONO: Final = {  # NO_COLOR: weight and inversion only
    "strong": "bold",
    "head": "bold",
    "title": "bold",
    "key": "underline",
    "bad": "bold",
    "warn": "bold",
    "select": "reverse",
    "select-good": "reverse",
    "select-warn": "reverse",
    "select-bad": "reverse bold",
    "brand": "reverse bold",
    "alarm": "reverse bold",
    "input": "reverse",
}
_BOLD: Final = frozenset({"strong", "title", "bad"})


def palette(name: str) -> Mapping[str, Style]:
    """Role → style; KeyError for an unknown theme."""
    if name == "ansi":
        return {"": Style.null(), **{role: Style.parse(text) for role, text in _ANSI.items()}}
    if name == "mono":
        return {"": Style.null(), **{role: Style.parse(text) for role, text in _MONO.items()}}
    colours = _RGB[name]
    bg, select = colours["bg"], colours["select"]
    out = {"": Style(color=colours["fg"], bgcolor=bg)}
    for role, colour in colours.items():
        if role not in ("bg", "fg", "select", "bar"):
            out[role] = Style(color=colour, bgcolor=bg, bold=role in _BOLD)
    for way, (low, high) in zip(("rx", "tx"), _GRADIENTS[name], strict=True):
        for shade in range(SHADES):
            colour = _blend(low, high, shade / (SHADES - 1))
            out[f"{way}-{shade}"] = Style(color=colour, bgcolor=bg)
    out["select"] = Style(color=colours["strong"], bgcolor=select, bold=True)
    for kind in ("good", "warn", "bad"):
        out[f"select-{kind}"] = Style(color=colours[kind], bgcolor=select, bold=True)
    out["brand"] = Style(color=bg, bgcolor=colours["title"], bold=True)
    out["alarm"] = Style(color=bg, bgcolor=colours["bad"], bold=True)
    out["input"] = Style(color=colours["strong"], bgcolor=select)
    return out


def _blend(colour: str, other: str, part: float) -> str:
    """The colour with a part of the other one mixed in; both as #rrggbb."""
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def native(name: str) -> bool:
    """Whether the theme keeps the terminal's own colours."""
    return name in ("ansi", "mono")
