"""Losses and verdicts of two hosts over whole ranges of what they counted: expected output.

`pytest tests/facts/pair/test_pair_tables.py --update` writes it anew.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from folded import folded
from golden_text import same
from pair_looks import look

from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.stages import declared
from nettop.facts.pair import BETWEEN, HERE, THERE, Losses, Place, match
from nettop.facts.pair.losses import losses
from nettop.facts.pair.verdict import verdict
from nettop.facts.pair.words import lost as in_words

OTHER = {HERE: THERE, THERE: HERE}
GOLDEN = Path(__file__).parents[2] / "golden/pair"
COUNTED: dict[str, tuple[Any, ...]] = {
    "lost": (0, 1, 200), "flying": (0, 40), "refused": (0, 1, 300), "ahead": (0, 30),
    "drops": (0, 1, 50), "merged": (1, 4),
    "leaving": (None, {"qdisc": 1.0}, {"qdisc": 20.0}),
    "arriving": (None, {"backlog": 1.0}, {"backlog": 150.0}, {"ring": 1.0}, {"ring": 150.0}),
}  # fmt: skip


def text(found: Losses | None) -> str:
    if found is None:
        return "not counted"
    places = "; ".join(
        f"{one.end} {one.stage} {one.name} {one.segments[0]:g}-{one.segments[1]:g}: {one.because}"
        for one in found.places
    )
    least, most = found.between
    return (
        f"{found.seconds:g} s {found.sent} sent {found.retransmitted} again"
        f" {found.refused:g} refused"
        f" {least:g}-{most:g} between{' merged' * found.merged} | {places or 'no place'}"
    )


def pairs() -> Iterator[dict[str, Any]]:
    """Each two counts together; the others are as where nothing happens."""
    names = list(COUNTED)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            for first, second in product(COUNTED[one][1:], COUNTED[other]):
                yield {"lost": 200, one: first, other: second}


def lost(counts: Mapping[str, Any], *, sends: bool) -> Losses | None:
    first = look(0.0, sent=1000, flying=counts.get("flying", 0))
    return losses(first, look(5.0, sent=9000, **counts), sends=sends)


def test_what_two_hosts_count_is_a_loss_at_a_place(update: bool) -> None:
    """The same holds for data that this host receives, with the ends turned."""
    out = []
    for counts in pairs():
        told = text(lost(counts, sends=True))
        given = " ".join(f"{k}={v}" for k, v in counts.items())
        out.append(f"{given}\n    {told}")
        turned = text(lost(counts, sends=False))
        assert re.sub(r"\bt?here\b", lambda end: OTHER[end[0]], turned) == told
    same(GOLDEN / "losses.txt", "\n".join(out) + "\n", update)


@folded("end", ["sender", "receiver"])
@folded("counter", [
    "data_segs_out", "data_segs_in", "bytes_received", "bytes_sent", "bytes_retrans", "bytes_acked",
    "unacked", "total_retrans", "mss", "dsack_dups", "drops", "notsent",
])  # fmt: skip
def test_a_counter_that_is_unknown_tells_no_loss_or_the_same(counter: str, end: str) -> None:
    first, last = look(0.0, sent=1000), look(5.0, sent=9000, lost=200)
    whole = losses(first, last, sends=True)
    early, late = (replace(row, **{counter: None}) for row in getattr(last, end))
    unknown = replace(last, sender=(early, late)) if end == "sender" else (
        replace(last, receiver=(early, late))
    )  # fmt: skip
    found = losses(first, unknown, sends=True)
    decides = {"sender": {"data_segs_out", "bytes_sent", "bytes_retrans", "bytes_acked", "unacked",
                          "mss"},
               "receiver": {"data_segs_in", "bytes_received"}}  # fmt: skip
    if counter in decides[end]:
        assert found is None
    elif counter in ("total_retrans", "dsack_dups") and end == "sender":
        assert found is not None
    else:
        assert found == whole


def test_two_looks_at_the_same_time_count_nothing() -> None:
    one = look(5.0, sent=9000, lost=200)
    assert losses(one, one, sends=True) is None


def limit(stage: str, held: float, end: str = "here", joint: tuple[str, ...] = ()) -> Limit:
    reading = Reading(stage, end, f"the {stage}", "measured", "because", None, (9e8, 1e9), held)
    return Limit("flow", "10.0.0.1:5001>10.0.0.2:40001", "tx", 8e8, 0.0, reading, joint)


RECEIVERS = {
    "nothing": None, "thread held": limit("thread", 0.9), "thread": limit("thread", 0.1),
    "application": limit("application", 0.5), "core": limit("core", 0.49),
    "ring": limit("ring", 0.8),
    "backlog there": limit("backlog", 0.8, "there"), "peer": limit("peer", 1.0, "there"),
    "rcvbuf": limit("rcvbuf", 1.0),
}  # fmt: skip
PLACES = {
    "": None,
    **{
        end: Losses(5.0, 9000, 200, 0.0, (200.0, 200.0),
                    (Place(end, "ring", "ring of eth0", (200.0, 200.0), "counted"),))
        for end in (HERE, THERE, BETWEEN)
    },
}  # fmt: skip


@pytest.mark.parametrize("sends", [True, False])
def test_a_verdict_of_both_ends(sends: bool, update: bool) -> None:
    out = []
    line = [limit(name, 0.1).stage for name in ("wire", "thread")]
    for stage in (None, *declared()):
        seen: dict[str, list[str]] = {}
        for (name, receiver), (place, lost) in product(RECEIVERS.items(), PLACES.items()):
            sender = None if stage is None else limit(
                stage, 0.5, "there" if stage in ("peer", "path") else "here", ("peer", "cwnd")
            )  # fmt: skip
            found = verdict(sender, receiver, lost, sends=sends, line=line, reader="web[7]")
            told = "none" if found is None else (
                f"{found.stage.stage} {found.stage.end} {found.stage.name} {found.stage.kind}"
                f" {found.stage.because} joint {found.joint} next"
                f" {found.next.stage if found.next else None} of {found.target} {found.direction}"
                f" {[one.stage for one in found.ladder]}"
            )  # fmt: skip
            seen.setdefault(told, []).append(f"{name} {place}".strip())
        out.append(f"{stage or 'no sender'}")
        out += [f"    {told}\n        receiver: {', '.join(names)}" for told, names in seen.items()]
    name = "verdict-sends" if sends else "verdict-receives"
    same(GOLDEN / f"{name}.txt", "\n".join(out) + "\n", update)


@folded(("target", "rate", "direction", "alike"), [
    ("10.9.9.9:40001>10.8.8.8:5001", 1e9, "rx", True),
    ("10.9.9.9:1>10.8.8.8:5001", 1e9, "rx", True), ("10.9.9.9:40001>10.8.8.8:2", 1e9, "rx", True),
    ("10.9.9.9:1>10.8.8.8:2", 1e9, "rx", False), ("10.9.9.9:40001>10.8.8.8:5001", 1e9, "tx", False),
    ("10.9.9.9:40001>10.8.8.8:5001", 7e8, "rx", True),
    ("10.9.9.9:40001>10.8.8.8:5001", 6.9e8, "rx", False),
    ("10.9.9.9:40001>10.8.8.8:5001", None, "rx", False),
    ("10.9.9.9:5001>10.8.8.8:40001", 1e9, "rx", False),
])  # fmt: skip
def test_a_flow_like_ours_behind_translation(
    target: str, rate: float | None, direction: str, alike: bool
) -> None:
    ours = Limit("flow", "10.0.0.1:5001>10.0.0.2:40001", "tx", 1e9)
    other = Limit("flow", target, direction, rate)
    (found,) = match.unmatched([ours], set(), [other] * 5)
    assert found.target == ours.target
    assert found.candidates == ((target,) * 3 if alike else ())


def test_what_has_another_end_here_is_not_missed() -> None:
    ours = Limit("flow", "10.0.0.1:5001>10.0.0.2:40001", "tx", 1e9)
    name = match.parts(ours.target)
    assert match.unmatched([ours], {name}, []) == ()
    loop = Limit("flow", "127.0.0.1:5001>127.0.0.1:40001", "tx", 1e9)
    there = Limit("flow", ours.target, "tx", 1e9, namespace="blue")
    card = Limit("nic", "eth0", "tx", 1e9)
    assert match.unmatched([loop, there, card], set(), []) == ()


@pytest.mark.parametrize(("target", "name"), [
    ("10.0.0.1:5001>10.0.0.2:40001", ("10.0.0.1", 5001, "10.0.0.2", 40001)),
    ("[::ffff:10.0.0.1]:1>[fd00::2]:65535", ("10.0.0.1", 1, "fd00::2", 65535)),
    ("[fe80::1%eth0]:7>10.0.0.2:x", ("fe80::1%eth0", 7, "10.0.0.2", 0)),
])  # fmt: skip
def test_the_addresses_of_a_target(target: str, name: match.Tuple4) -> None:
    assert match.parts(target) == name
    assert match.turned(match.turned(name)) == name
    assert match.turned(name) == (name[2], name[3], name[0], name[1])


def test_a_loss_is_told_in_words(update: bool) -> None:
    out: list[str] = []
    for counts in pairs():
        if counts.keys() & {"leaving", "arriving", "drops"}:
            found = losses(look(0.0, sent=1000), look(5.0, sent=9000, **counts), sends=True)
            assert found is not None
            out += in_words(found, labels={HERE: "db1", THERE: "web2"})
    same(GOLDEN / "words.txt", "\n".join(dict.fromkeys(out)) + "\n", update)
