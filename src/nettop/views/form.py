"""The form of a test: what to run, address of the peer, options. Proofs and studies use it too."""

from __future__ import annotations

import shlex
from functools import lru_cache
from typing import Final

from ..facts.flow_words import rate
from ..facts.pair.match import parts
from ..terms.errors import sentence
from .scene import Scene
from .view import View

PROMPTS: Final = {  # of a value that a proof asks for: the prompt, what Enter does
    "form.to": ("address of the peer", "continues"),
    "form.peer": ("peer by (ssh host2; env: here), or empty:", "shows the plan"),
}
FIELDS: Final = (  # name, label, default, hint
    ("what", "run", "test", "← → test, sweep, tune or prove"),
    ("tool", "tool", "iperf3", "← → change"),
    ("setting", "setting", "", "such as ring.rx@eth0 (pane 3 lists all)"),
    ("values", "values", "", "compared with the current: 256 1024 4096"),
    ("finding", "finding", "", "← → the findings that can be proved"),
    ("to", "address", "", "of the peer: 192.0.2.20; ← → known ones"),
    ("peer", "peer", "", "prefix that reaches the peer: ssh host2"),
    ("seconds", "seconds", "10", "of one run; at least 10 to compare runs"),
    ("streams", "streams", "1", "parallel connections"),
    ("reverse", "reverse", "auto", "yes: the peer sends; auto: as needed"),
    ("budget", "minutes", "10", "time limit of all proofs together"),
)
_BENCH: Final = ("to", "peer", "seconds", "streams", "reverse")
KINDS: Final = {  # what can be run: its fields
    "test": ("what", "tool", *_BENCH),
    "sweep": ("what", "setting", "values", *_BENCH),
    "tune": ("what", *_BENCH, "budget"),
    "prove": ("what", "finding", *_BENCH),
}
_COUNTS: Final = ("seconds", "streams", "budget")  # fields that are numbers
CHOICES: Final = ("what", "tool", "finding", "reverse")  # fields that are chosen, not typed
KNOWN: Final = 8  # addresses that are offered


def values(view: View) -> dict[str, str]:
    """The value of each field by name: what was typed, else the default."""
    return {name: view.form.get(name, default) for name, _, default, _ in FIELDS}


def kind(view: View) -> str:
    """What the form runs: test, sweep, tune or prove."""
    what = values(view)["what"]
    return what if what in KINDS else "test"


def fields(view: View) -> list[tuple[str, str, str, str]]:
    """The fields of what the form runs."""
    return [field for field in FIELDS if field[0] in KINDS[kind(view)]]


def wrong(view: View) -> tuple[str, str]:
    """The first field whose text cannot be used, and why not; ("", "") if there is none."""
    now = values(view)
    for name, label, _, _ in fields(view):
        text = now[name].strip()
        if name == "to" and len(text.split()) > 1:
            return name, "an address has no spaces"
        if name in ("setting", "values") and (why := _unfit(now["setting"], now["values"])[name]):
            return name, why
        if name in _COUNTS and text and not _above_zero(text, whole=name == "streams"):
            whole = "a whole number" if name == "streams" else "a number"
            return name, f"{label} must be {whole} above zero"
    return "", ""


@lru_cache(maxsize=1)  # of the form as it is, which each picture asks for
def _unfit(setting: str, texts: str) -> dict[str, str]:
    """Why a setting and the values to test are none, by field; "" where they are, or are empty."""
    from .. import settings  # once a sweep is filled in

    why = {"setting": "", "values": ""}
    if not setting:
        return why
    field = "setting"
    try:
        address = settings.parse(setting)
        field = "values"
        for text in shlex.split(texts):
            settings.normal(address, text)
    except (LookupError, ValueError) as error:
        why[field] = sentence(error)
    return why


def _above_zero(text: str, *, whole: bool) -> bool:
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        return False
    return 0 < number < 1e6


def peers(scene: Scene) -> list[str]:
    """Addresses that may be the peer: of stored tests, latest first, then of the busiest flows.

    Stored tests are those of this machine: one to the host shown is none of its own.
    """
    facts = scene.facts.here() if scene.facts is not None else None
    own = {one for nic in facts.nics for one in nic.addresses} if facts is not None else set()
    tested = [one.to for one in sorted(scene.results, key=lambda one: -one.wall)]
    flows = facts.flows if facts is not None else ()
    busy = sorted(flows, key=lambda one: -(rate(one) or 0.0))
    remote = [one.remote for one in busy if one.remote and one.bulk]
    known = dict.fromkeys((*tested, *remote))
    return [one for one in known if one and one not in own][:KNOWN]


def provable(scene: Scene) -> list[str]:
    """The ids of the findings that have a setting to test: those that hold, of both ends."""
    there = scene.peer.findings if scene.peer is not None else ()
    return list(dict.fromkeys(one.id for one in (*scene.findings, *there) if one.wanted))


def offered(scene: Scene, name: str) -> str:
    """What Enter puts into an empty field: the first known address, the first finding."""
    known = {"to": peers, "finding": provable}.get(name)
    return next(iter(known(scene)), "") if known is not None else ""


def course(scene: Scene) -> tuple[str, bool]:
    """The address of the other end of the busiest joined flow, and whether that end sends."""
    joined = scene.peer.joined if scene.peer is not None else ()
    busiest = max(joined, key=lambda one: one.limit.rate or 0.0, default=None)
    if busiest is None:
        return "", False
    return parts(busiest.limit.target)[2], busiest.limit.direction == "rx"


def elsewhere(scene: Scene) -> str:
    """Why no test can start from here; empty on this host."""
    if "test" in scene.barred:
        return "not on a screen for reading only"
    if scene.origin is None:
        return ""
    return "from a nettop there" if scene.distant else f"not in a {scene.origin.kind}"
