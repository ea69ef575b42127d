"""An animated SVG of screens: a row that several frames share is drawn once.

The text is laid out in cells by explicit positions, so that it looks alike in every font. SMIL
animates it; a viewer without SMIL shows the last frame.
"""

from collections.abc import Mapping, Sequence
from html import escape

from rich.style import Style
from session import Frame

from nettop.terms.text import Line, cells

CELL, ROW, SIZE, EDGE = 8.4, 18, 14, 12  # of the text in pixels, and the margin


def svg(frames: Sequence[Frame], styles: Mapping[str, Style]) -> str:
    """The picture; `styles` by role."""
    width = max(sum(cells(text) for text, _ in row) for one in frames for row in one.rows)
    height = max(len(one.rows) for one in frames)
    whole = sum(one.seconds for one in frames)
    starts = [sum(one.seconds for one in frames[:at]) / whole for at in range(len(frames))]
    across, down = round(width * CELL + 2 * EDGE), (height + 2) * ROW + 2 * EDGE
    names = {role: f"r{number}" for number, role in enumerate(sorted(styles))}
    ground = _hex(styles[""], ground=True)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" role="img">',
        "<title>nettop: a problem, its fix and the proof</title>",
        f"<style>text{{font:{SIZE}px Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}",
        *(f".{names[role]}{{fill:{_hex(style)}{';font-weight:bold' * bool(style.bold)}}}"
          for role, style in sorted(styles.items())),
        ".c{fill:#ffffff;font-size:16px;font-weight:bold}</style>",
        f'<rect width="{across}" height="{down}" rx="8" fill="{ground}"/>',
    ]  # fmt: skip
    shown: dict[tuple[int, Line | str], list[int]] = {}
    for number, one in enumerate(frames):
        for y, row in enumerate(one.rows):
            shown.setdefault((y, row), []).append(number)
        shown.setdefault((height, one.caption), []).append(number)
    for (y, content), numbers in shown.items():
        if isinstance(content, str):
            drawn = (
                f'<text x="{EDGE}" y="{EDGE + (y + 2) * ROW}" class="c">{escape(content)}</text>'
            )
        else:
            drawn = _row(content, y, styles, names)
        if drawn:
            out.append(_visible(drawn, numbers, starts, whole))
    return "\n".join([*out, "</svg>", ""])


def _row(row: Line, y: int, styles: Mapping[str, Style], names: Mapping[str, str]) -> str:
    """One row: its backgrounds, and a text with a position for each part."""
    boxes, parts, column = [], [], 0
    for text, role in row:
        style, wide = styles.get(role, styles[""]), cells(text)
        x = f"{EDGE + column * CELL:.1f}".removesuffix(".0")
        if _hex(style, ground=True) != _hex(styles[""], ground=True):
            boxes.append(
                f'<rect x="{x}" y="{EDGE + y * ROW}" width="{wide * CELL:.1f}" height="{ROW}" '
                f'fill="{_hex(style, ground=True)}"/>'
            )
        bare = text.strip(" ")
        if bare:
            gap = cells(text) - cells(text.lstrip(" "))
            x = f"{EDGE + (column + gap) * CELL:.1f}".removesuffix(".0")
            room = "" if bare.isascii() else f' textLength="{cells(bare) * CELL:.0f}"'
            kind = f' class="{names[role]}"' if role in names and role else f' class="{names[""]}"'
            parts.append(f'<tspan x="{x}"{room}{kind}>{escape(bare, quote=False)}</tspan>')
        column += wide
    text = f'<text y="{EDGE + y * ROW + SIZE}">{"".join(parts)}</text>' if parts else ""
    return "".join(boxes) + text


def _visible(drawn: str, numbers: Sequence[int], starts: Sequence[float], whole: float) -> str:
    """What is drawn, visible in the frames of these numbers only."""
    if len(numbers) == len(starts):
        return drawn
    on = ["visible" if at in numbers else "hidden" for at in range(len(starts))]
    changes = [at for at in range(len(starts)) if at == 0 or on[at] != on[at - 1]]
    times = ";".join(f"{starts[at]:.4f}".rstrip("0").rstrip(".") for at in changes)
    values = ";".join(on[at] for at in changes)
    return (
        f'<g visibility="{on[-1]}">{drawn}<animate attributeName="visibility" '
        f'calcMode="discrete" dur="{whole:g}s" repeatCount="indefinite" '
        f'keyTimes="{times}" values="{values}"/></g>'
    )


def _hex(style: Style, *, ground: bool = False) -> str:
    """The colour of a style, or of its background, as #rrggbb."""
    colour = style.bgcolor if ground else style.color
    return colour.get_truecolor().hex if colour is not None else "#000000"
