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
# the colours of each theme: background, foreground, and the roles that differ from plain text;
# colourblind is Okabe and Ito's palette: no contrast of red and green
_COLOURS: Final = """
role     dark     light    contrast colourblind
bg       #10141a  #fbfcfd  #000000  #11151c
fg       #c9d1d9  #24292f  #ffffff  #d0d6de
strong   #f0f6fc  #000000  #ffffff  #ffffff
dim      #7d8894  #5f6b78  #c8c8c8  #8a94a0
faint    #333c47  #cfd6dd  #707070  #363f4a
head     #9fb0c3  #44515f  #ffffff  #a9b8c9
title    #79c0ff  #0550ae  #00ffff  #56b4e9
key      #e3b341  #8a4b00  #ffff00  #f0e442
accent   #56d4dd  #0a6c74  #00ffff  #56b4e9
good     #56d364  #116329  #00ff66  #4fb3ff
warn     #e3b341  #8a4b00  #ffff00  #f0e442
bad      #ff7b72  #b3202c  #ff5f5f  #ff8c42
softirq  #f778ba  #a0256f  #ff66ff  #cc79a7
irq      #ff9e64  #b04a00  #ffaa00  #e69f00
system   #58a6ff  #0b57c4  #66b3ff  #56b4e9
user     #56d364  #1a7f37  #00ff66  #2bbf9b
steal    #d2a8ff  #6f3ac0  #dd99ff  #f0e442
idle     #39424e  #c6ced6  #808080  #3c4652
select   #1f3a5f  #cfe4ff  #0000c0  #123f63
bar      #1b222c  #eaeef2  #202020  #1c232d
"""
_THEMES, *_ROLES = (row.split() for row in _COLOURS.strip().splitlines())
_RGB: Final[dict[str, dict[str, str]]] = {
    theme: {row[0]: row[at] for row in _ROLES} for at, theme in enumerate(_THEMES) if at
}
_ANSI: dict[str, str] = {  # the terminal's own sixteen colours
    "strong": "bold", "dim": "bright_black", "faint": "bright_black", "head": "bold",
    "title": "bold cyan", "key": "yellow", "accent": "cyan", "good": "green", "warn": "yellow",
    "bad": "bold red", "softirq": "magenta", "irq": "yellow", "system": "blue", "user": "green",
    "steal": "bright_magenta", "idle": "bright_black", "select": "reverse",
    "select-good": "reverse", "select-warn": "reverse", "select-bad": "reverse bold",
    "brand": "reverse bold", "alarm": "reverse bold red", "input": "reverse",
}  # fmt: skip
_ANSI |= {
    f"rx-{shade}": "green" if shade < SHADES // 2 else "bright_green" for shade in range(SHADES)
}
_ANSI |= {
    f"tx-{shade}": "cyan" if shade < SHADES // 2 else "bright_cyan" for shade in range(SHADES)
}
_MONO: Final = {  # NO_COLOR: weight and inversion only
    "strong": "bold", "head": "bold", "title": "bold", "key": "underline", "bad": "bold",
    "warn": "bold", "select": "reverse", "select-good": "reverse", "select-warn": "reverse",
    "select-bad": "reverse bold", "brand": "reverse bold", "alarm": "reverse bold",
    "input": "reverse",
}  # fmt: skip
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
