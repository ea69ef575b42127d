"""At which value of each measurement a verdict changes: expected output, found by bisection.

A situation has one flow. One measurement of it takes all values of a range; where two values next
to each other give another verdict, or another kind of reading on the ladder, both are written with
what differs. `pytest tests/facts/limits/test_limit_boundaries.py --update` writes it anew.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from folded import folded
from golden_text import parts, same
from limit_frames import AWAY, RECEIVES, every, moment
from limit_situations import COUNTS, PARTS, QUEUES, SHARES, SITUATIONS, device, sender

from nettop.collect import sockets_udp

GOLDEN = Path(__file__).parents[2] / "golden/limits/boundaries.txt"
FIGURE = re.compile(r"<?[0-9.]+(,[0-9]{3})*(%| ?([KMGT]i?B|B|[KMG]?b/s|ms|us|s)\b)?( segments?)?")


def shape(at: Any) -> list[str]:
    """What is said of each target and stage, without the figures."""
    out = []
    for limit in every(at, 1, kinds=False)[-1].limits:
        where = f"{limit.over} {limit.direction}"
        out.append(f"{where} limited by {limit.stage.stage} {' '.join(limit.joint)}")
        out.append(f"{where} next {limit.next.stage if limit.next else None}")
        for one in limit.ladder:
            marks = [one.stage, one.end, one.kind, one.name, one.because]
            marks += [name for name in ("utilisation", "capacity", "reach")
                      if getattr(one, name) is not None]  # fmt: skip
            marks += ["full"] * (one.utilisation == 1.0) + ["holds"] * (one.held >= 0.5)
            out.append(f"{where} {FIGURE.sub('#', ' '.join(marks))}")
    return out


def boundaries(name: str, values: tuple[int, ...], make: Any) -> Iterator[str]:
    """The pairs of neighbours between which the shape changes, refined to a step of one."""

    def at(value: int) -> list[str]:
        return shape(lambda second: make(second, value))

    def between(low: int, before: list[str], high: int, after: list[str]) -> Iterator[str]:
        if before == after:
            return
        if high - low > 1:
            middle = (low + high) // 2
            seen = at(middle)
            yield from between(low, before, middle, seen)
            yield from between(middle, seen, high, after)
            return
        yield f"{name} {low} | {high}"
        yield from [f"    - {one}"[:160] for one in before if one not in after][:3]
        yield from [f"    + {one}"[:160] for one in after if one not in before][:3]

    for first, second in pairwise((value, at(value)) for value in values):
        yield from between(*first, *second)


DEVICE = "load ring port pps xoff dropped width"
SENT = {True: {}, False: {"gauges": AWAY, "rates": RECEIVES}}


@pytest.mark.parametrize("sends", [True, False])
def test_where_a_device_limits(sends: bool, update: bool) -> None:
    out: list[str] = []
    for knob in DEVICE.split():
        values, unit = (PARTS, 100) if knob == "load" else ((*COUNTS[:5], 2000), 1)

        def make(s: float, v: int, k: str = knob, u: int = unit) -> Any:
            return sender(s, **SENT[sends], more=device(s, **{k: v / u}))

        out += boundaries(knob, values, make)
    name = "device sends" if sends else "device receives"
    same(GOLDEN, "\n".join(out) + "\n", update, name)


@folded("kind", QUEUES)
@folded("backlog", [0, 90_000])
def test_where_a_queue_limits(kind: str, backlog: int, update: bool) -> None:
    def make(second: float, value: int) -> Any:
        return sender(second, **QUEUES[kind](second, value / 100, backlog))

    out = list(boundaries("load", (*PARTS, 150, 300), make))
    same(GOLDEN, "\n".join(out) + "\n", update, f"queue {kind}, backlog {backlog}")


@pytest.mark.parametrize("unread", [0, 9000])
def test_where_a_datagram_socket_limits(unread: int, update: bool) -> None:
    def make(second: float, value: int) -> Any:
        row = sockets_udp.Row(101, "10.0.0.1", 53, "0.0.0.0", 0, False, 0, unread, 0,
                              int(value * second / 10))  # fmt: skip
        return moment(second, more={"sockets_udp": [row], "sockets_tcp": []})

    out = list(boundaries("tenths of a drop", (*COUNTS[:4], 200), make))
    same(GOLDEN, "\n".join(out) + "\n", update, f"datagrams, {unread} unread")


@folded("case", SITUATIONS)
def test_where_a_verdict_changes(case: str, update: bool) -> None:
    fixed, knobs = SITUATIONS[case]
    out: list[str] = []
    for knob in knobs.split():
        values, unit = (PARTS, 100) if knob in SHARES else (COUNTS, 1)
        out += boundaries(
            knob, values, lambda s, v, k=knob, u=unit: sender(s, **{**fixed, k: v / u})
        )
    same(GOLDEN, "\n".join(out) + "\n", update, case)


def test_no_situation_is_left_that_is_gone() -> None:
    assert len(parts(GOLDEN)) == len(SITUATIONS) + 2 + 2 * len(QUEUES) + 2


@folded(("again", "sent", "seconds", "known"), [
    (1720, 86_000, 6, True), (1721, 86_000, 6, False),  # of more than 2 % it tells nothing
    (5, 10_000, 3, True), (9, 10_000, 2, False), (10, 10_000, 2, True),  # ten in the window
])  # fmt: skip
def test_a_loss_tells_a_capacity_where_it_is_counted_and_small(
    again: int, sent: int, seconds: int, known: bool
) -> None:
    case = {"unacked": 100, "min_rtt": 80, "rtt": 90}
    rates = {"total_retrans": again, "segs_out": sent}
    limits = every(lambda s: moment(s, gauges=case, rates=rates), seconds)[-1].limits
    flow = next(one for one in limits if one.over == "flow")
    (path,) = (one for one in flow.ladder if one.stage == "path")
    assert (path.capacity is not None) == known
