"""The findings of the overview: one a line, with the keys of the one under the cursor."""

from __future__ import annotations

from ..terms.text import Line, fit, line
from ..terms.units import count
from ..views.enough import all_clear, unjudged, witnesses
from ..views.scene import Scene
from ..views.view import View, under
from . import listed
from .frame import filled, inside, part
from .parts import listing
from .silence import unheld


def keys_of(scene: Scene, one: listed.Listed, width: int = 80) -> str:
    """The keys for a finding, without their words where there is little room."""
    keys = listed.planned(one.id, scene) and (listed.offered(one, scene) or (listed.COPY,))
    if not keys:
        return "" if width < listed.NARROW else "Enter why "
    if width < listed.NARROW:
        return "".join(f"{hint.key} " for hint in keys)
    return "".join(f"{hint.key} {hint.text}  " for hint in keys)[:-1]


def lines(scene: Scene, view: View, width: int, height: int, *, framed: bool) -> list[Line]:
    """The top findings in `height` lines and their title, with the keys of the chosen one."""
    every = listed.standing(scene)
    inner = inside(width, framed=framed)
    cursor = under(tuple(one.id for one in every), view.spot)
    longest = max((len(one.id) for one in every), default=0)
    shared = listed.alike(every)
    rows = [
        listed.row(one, inner, keys_of(scene, one, inner) if at == cursor else "", longest, shared)
        for at, one in enumerate(every)
    ]
    if not rows:
        judged = f"{unheld(scene.silent)} (5: why)" if scene.silent else "5 shows what was judged"
        text = f" none; {judged}"
        if scene.frame is not None and witnesses(scene.frame):
            text = f" {all_clear(scene.frame)}"
        text, role = (f" {unjudged(scene.shortfall)}", "warn") if scene.shortfall else (text, "dim")
        text += f"; {len(scene.mutes)} muted (M)" if scene.mutes else ""
        text += f"; {over}" if (over := listed.over(scene)) else ""
        shown = [line((text, role))]
        return part("FINDINGS", "", filled(shown, height, framed), width, framed=framed)
    hold = sum(not one.state for one in every)
    remark = count(len(rows)) if len(rows) > height else ""
    if len(rows) > hold:
        remark = f"{hold} hold, {len(rows) - hold} done"
    remark = ", ".join(filter(None, (remark, listed.over(scene))))
    shown = filled(listing(rows, cursor, inner, height), height, framed)
    free = height - len(rows)
    if framed and free > 0:
        shown[len(rows) :] = filled(_figures(every[max(0, cursor)], inner), free, framed)
    return part("FINDINGS", remark, shown, width, framed=framed)


def _figures(one: listed.Listed, width: int) -> list[Line]:
    """The evidence of a finding that holds, a figure a line."""
    if one.finding is None or one.state:
        return []
    from ..advice.language.words import field_name, value_text  # not before a finding holds

    return [
        line(
            (fit(f"   {field_name(item['field'])}", max(24, width * 2 // 3)), "dim"),
            (f" {value_text(item['field'], item['value'], item.get('unit') or '')}", "dim"),
        )
        for item in one.finding.evidence
    ]
