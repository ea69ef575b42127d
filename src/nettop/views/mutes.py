"""Muted findings: split the findings of a scene by the list of muted names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .scene import Scene

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding


def mutes(name: str, finding: Finding) -> bool:
    """Whether a name on the list is the id of this finding or of its rule."""
    return name in (finding.id, finding.rule)


def may_mute(name: str, finding: Finding) -> bool:
    """As `mutes`; also for `rule@process`, because a finding does not know the process name."""
    rule, _, target = name.partition("@")
    return mutes(name, finding) or (rule == finding.rule and bool(target))


def sorted_by_mutes(scene: Scene) -> Scene:
    """The scene with the findings of both ends and `muted` split by its list of muted names.

    A finding that the judge muted by a process name stays muted while such a name is listed.
    """
    names = scene.mutes
    there = scene.peer.findings if scene.peer is not None else ()
    muted = tuple(f for f in scene.muted if any(may_mute(name, f) for name in names))
    muted += tuple(f for f in (*scene.findings, *there) if any(mutes(name, f) for name in names))
    if muted == scene.muted:
        return scene
    muted_ids = {f.id for f in muted}
    every = (*scene.findings, *there, *scene.muted)
    rest = [one for one in every if one.id not in muted_ids]
    ended = tuple(one for one in scene.ended if one.finding.id not in names)
    peer = scene.peer
    if peer is not None:
        peer = replace(peer, findings=tuple(one for one in rest if one.host))
    own = tuple(one for one in rest if not one.host)
    return replace(scene, findings=own, muted=muted, ended=ended, peer=peer)
