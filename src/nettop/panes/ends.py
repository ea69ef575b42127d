"""Both ends of a flow (--peer): the stages of both hosts in one line, and the lost segments."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..facts.flow_words import name, rate
from ..facts.limits import words
from ..facts.limits.stages import short
from ..facts.pair import BETWEEN, HERE, THERE, Joined, Losses
from ..facts.pair import words as both
from ..terms.text import Line, fit_line, line, line_cells, wrap
from ..terms.units import many
from ..views.scene import Peer, Scene
from .limit import mark

if TYPE_CHECKING:
    from ..facts.kinds.flow import Flow

MARGIN: Final = 3  # columns before each line but the first
_NUMBER: Final = re.compile(r"\[\d+\]")  # of a process
_FULLER: Final = (0.0, 1e-9, 0.01, 0.05, 0.2, 0.5)  # shares in use, for less room each
NAME: Final = 24  # columns of a host's name in the line of stages


def band(scene: Scene, width: int) -> list[Line]:
    """Three lines for the overview: the busiest joined flow, its stages, its losses."""
    peer = scene.peer
    if peer is None:
        return []
    one = max(peer.joined, key=lambda known: known.limit.rate or 0.0, default=None)
    out = message(peer, width)
    if one is not None:
        out += [head(_now(one, scene), peer, width), stages(one, peer, width), lost(one, peer)]
    elif peer.ended and not out:
        more = f", and {len(peer.ended) - 1:,} more" if len(peer.ended) > 1 else ""
        out = [line((f" ⇄ {peer.ended[0]} has ended{more}", "dim"))]
    elif not out:
        out = [line((f" ⇄ {text}", "dim")) for text in list(both.unmatched(peer, peer.hosts))[1:2]]
    return [fit_line(row, width) for row in out]


def _now(one: Joined, scene: Scene) -> Joined:
    """The flow at its rate in the list of flows; the other host has looked at another time."""
    flows = scene.mean.flows if scene.mean is not None else ()
    now = next((rate(known) for known in flows if name(known) == one.limit.target), None)
    return one if now is None else replace(one, limit=replace(one.limit, rate=8 * now))


def message(peer: Peer, width: int) -> list[Line]:
    """Why there is no new picture."""
    texts = wrap(peer.message, max(20, width - MARGIN - 1))[:2] if peer.message else []
    return [line((f" {'⇄' if not at else ' '} {text}", "warn")) for at, text in enumerate(texts)]


def head(one: Joined, peer: Peer, width: int) -> Line:
    """`⇄ rsync[4] → rsyncd[9] sends 1.2 Gb/s limited by the qdisc, at web2`.

    Where that does not fit, the programs are left out: the host of the limit is not.
    """
    limit = one.limit
    where = {HERE: f", at {peer.hosts[0]}", THERE: f", at {peer.hosts[1]}"}
    text = words.limited(limit, where.get(limit.stage.end, ""))
    glyph, role = mark(limit)
    programs = f"{one.writer} → {one.reader} "
    for ways in (programs, _NUMBER.sub("", programs), ""):
        row = line(
            (" ⇄ ", "accent"), (f"{ways}{words.rate(limit)} ", ""), (f"{glyph} {text}", role)
        )
        if line_cells(row) <= width:
            break
    return row


def stages(one: Joined, peer: Peer, width: int) -> Line:
    """All stages from the writer's to the reader's thread; of many, those that are fuller.

    The stage that limits has a mark.
    """
    rows = (_stages(one, peer, least) for least in _FULLER)
    return next((row for row in rows if line_cells(row) <= width), _stages(one, peer, 2.0))


def _stages(one: Joined, peer: Peer, least: float) -> Line:
    """The stages that are so full at least; with 0, also those of which that is not known."""
    out = line(" " * MARGIN)
    glyph, role = mark(one.limit)
    hosts = {HERE: peer.hosts[0], THERE: peer.hosts[1]}
    end = ""
    for step in one.line:
        limits = (step.stage, step.end) == (one.limit.stage.stage, one.limit.stage.end)
        used = both.full(step, limits=limits)
        told = step.utilisation or 0.0 if used else 0.0
        if least and not limits and told < least and step.end != BETWEEN:
            continue
        if step.end != end:
            out += line((" │ " if end else "", "faint"))
            out += line((f"{hosts[step.end][:NAME]}: ", "head")) if step.end in hosts else ()
        else:
            out += line((" > ", "faint"))
        text = f"{short(step.stage)}{used}"
        out += line((f"{glyph} {text}", role) if limits else text)
        end = step.end
    return out


def lost(one: Joined, peer: Peer) -> Line:
    """The segments lost between the stacks, with the bound, and the most likely place."""
    losses = one.losses
    if losses is None:
        why = f": {one.uncounted}" if one.uncounted else " yet"
        return line((f"   losses are not counted{why}", "dim"))
    if not _loses(losses):
        most = losses.between[1]
        bound = f" (at most {most:,.0f} of {many(losses.sent, 'segments')})" if most >= 1 else ""
        return line((f"   no loss seen between the hosts{bound}", "dim"))
    text = f"   lost {both.span(losses.between)} of {many(losses.sent, 'segments')}"
    if losses.refused >= 1:
        text += f", {losses.refused:,.0f} refused by the sender's queues"
    place = losses.place
    if place is None or place.segments[1] < 1:
        return line((text, "warn"))
    hosts = {HERE: f"at {peer.hosts[0]}", THERE: f"at {peer.hosts[1]}", BETWEEN: "in the network"}
    some = both.span(place.segments).replace("at most", "up to")
    return line((f"{text}, {some} of them {hosts[place.end]}", "bad"),
                (f"  {place.name}", "dim"))  # fmt: skip


def _loses(losses: Losses) -> bool:
    known = losses.between[0] >= 1 or losses.refused >= 1 or losses.place is not None
    return known or losses.retransmitted >= 1


def of_flow(flow: Flow, scene: Scene, width: int) -> list[Line]:
    """The lines of a flow that both ends see: limit, stages, every place of losses."""
    peer = scene.peer
    if peer is None:
        return []
    one = next((known for known in peer.joined if known.limit.target == name(flow)), None)
    if one is None and name(flow) in peer.ended:
        return [*message(peer, width), line((" ⇄ this flow has ended", "dim"))]
    if one is None:
        return message(peer, width)
    rows = [*message(peer, width), head(_now(one, scene), peer, width), stages(one, peer, width)]
    rows += [line((f"   {text}", "dim")) for text in wrap(peer.clock, width - MARGIN)]
    if one.losses is None or not _loses(one.losses):
        return [*rows, lost(one, peer)]
    labels = dict(zip((HERE, THERE), peer.hosts, strict=True))
    texts = both.lost(one.losses, width=width - 1, labels=labels)
    return [*rows, *(line((f" {text}", "bad" if not at else "")) for at, text in enumerate(texts))]
