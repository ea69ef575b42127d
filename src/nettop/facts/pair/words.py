"""The words for what both ends of flows see: limits, stages, losses, flows without another end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Protocol

from ...terms import units
from ...terms.text import safe
from ..limits import Limit, Reading, words
from . import BETWEEN, HERE, THERE, Joined, Losses, Place, Unmatched

if TYPE_CHECKING:
    from .model import Sides

WIDE: Final = 78
LONG: Final = 30  # characters of a prefix that leave no room for the sentence at 80 columns
MANY: Final = 3  # unmatched flows that are named
_AROUND: Final = ("sudo", "doas", "env")  # words of a prefix that run its command at the same host


def short(name: str) -> str:
    """The short name of a host: the last word of a command prefix that may be its name."""
    words = [
        word
        for word in name.split()
        if not word.startswith("-") and "=" not in word and word not in _AROUND
    ]
    return words[-1] if words else name


def called(name: str) -> str:
    """A command prefix as sentences have it: a long one is the name of its host."""
    return short(name) if len(name) > LONG else name


def text(sides: Sides, hosts: tuple[str, str], chosen: Callable[[str], bool]) -> Iterator[str]:
    """The joined flows that are `chosen`, then what does not match."""
    flows = [one for one in sides.joined if chosen(one.limit.target)]
    for one in sorted(flows, key=lambda one: -(one.limit.rate or 0.0)):
        yield from flow(one, hosts)
    for host, facts in zip(hosts, (sides.here, sides.there), strict=True):
        for socket in facts.limits:
            if socket.over == "socket" and (chosen(socket.target) or facts is sides.there):
                yield from datagrams(socket, host)
    yield from gone(sides)
    yield from unmatched(sides, hosts)


def gone(sides: Sides) -> Iterator[str]:
    """The flows that ended while they were watched."""
    for target in sides.ended[:MANY]:
        yield ""
        yield from wrap(safe(f"{target} ended while it was watched"), WIDE, subsequent_indent="  ")
    if len(sides.ended) > MANY:
        yield f"and {units.many(len(sides.ended) - MANY, 'flows')} more that ended"


def headline(sides: Sides, hosts: tuple[str, str]) -> Iterator[str]:
    """The limit of the busiest flow of both hosts, or why there is none."""
    if sides.joined:
        limit = max((one.limit for one in sides.joined), key=lambda one: one.rate or 0.0)
        yield words.line(limit, _at(limit.stage, hosts))
    yield from gone(sides)
    yield from unmatched(sides, hosts)


def flow(one: Joined, hosts: tuple[str, str]) -> Iterator[str]:
    """A flow: its limit, the line of stages, the ladder of both hosts, its losses."""
    limit = one.limit
    yield ""
    yield f"{limit.target} {words.rate(limit)} ({one.writer} writes, {one.reader} reads)"
    sentences = [words.verdict(limit, _at(limit.stage, hosts)), limit.stage.because]
    for sentence in sentences:
        yield from _wrapped(sentence)
    yield from _wrapped(_line(one))
    for step in limit.ladder:
        mark = words.mark(limit, step)
        yield (
            f"  {mark} {step.stage:<11} {step.end:<7} {units.share(step.utilisation):>5}  "
            f"{words.interval(step.capacity):>16}  {step.kind:<8}  {step.name}"
        )
    if one.losses is not None:
        yield from lost(one.losses)
    elif one.uncounted:
        yield from _wrapped(f"losses are not counted: {one.uncounted}")


def datagrams(limit: Limit, host: str) -> Iterator[str]:
    """A UDP socket that drops or sends, of one of the hosts."""
    owner = f" {limit.process}[{limit.pid}]" if limit.pid is not None else ""
    yield ""
    yield f"{limit.target}{owner} {words.rate(limit)}, at {host}"
    yield from _wrapped(words.verdict(limit))
    yield from _wrapped(limit.stage.because)


def _wrapped(sentence: str) -> list[str]:
    return wrap(safe(sentence), WIDE, initial_indent="  ", subsequent_indent="    ")


def _at(stage: Reading, hosts: tuple[str, str]) -> str:
    """` at web2`, where the limit is at one of the hosts."""
    return f", at {hosts[0 if stage.end == HERE else 1]}" if stage.end in (HERE, THERE) else ""


def _line(one: Joined) -> str:
    """`here: thread 17% > sndbuf 2% | path | there: core 30% > thread 95%`; ✗ marks the limit."""
    parts: list[str] = []
    end = ""
    for step in one.line:
        limits = (step.stage, step.end) == (one.limit.stage.stage, one.limit.stage.end)
        used = full(step, limits=limits)
        head = f"{step.end}: " if step.end not in (end, BETWEEN) else ""
        sign = "" if not parts else " > " if step.end == end else " | "
        parts.append(f"{sign}{head}{step.stage}{used}{' ✗' if limits else ''}")
        end = step.end
    return "".join(parts)


def full(step: Reading, *, limits: bool) -> str:
    """` 40%`: how full a stage is; empty where it is not known.

    Of a program that does not limit it is not told where it is inferred from what is absent: that
    nothing waited when it was looked at is no evidence beside a stage that was measured.
    """
    absent = step.stage == "application" and step.kind == "inferred" and not limits
    known = step.utilisation is not None and not absent
    return f" {units.share(step.utilisation)}" if known else ""


def lost(
    losses: Losses, width: int = WIDE, labels: Mapping[str, str] | None = None
) -> Iterator[str]:
    """What was lost between the stacks, with its bound, and where; `labels` name the hosts."""
    sent = f"{units.many(losses.sent, 'segments')} sent in {units.seconds(losses.seconds)}"
    merges = " (in bytes: the receiver merges segments)" if losses.merged else ""
    text = f"lost between the stacks: {span(losses.between)} of {sent}{merges}"
    if losses.between[1] >= 1 or losses.retransmitted:
        text += f"; {losses.retransmitted:,} retransmitted, without duplicates"
    if losses.refused >= 1:
        text += f"; {losses.refused:,.0f} refused by the sender's own queues and sent again"
    yield from wrap(safe(text), width, initial_indent="  ", subsequent_indent="    ")
    for place in losses.places:
        words = _place(place, labels or {})
        yield from wrap(safe(words), width, initial_indent="    ", subsequent_indent="      ")


def _place(place: Place, labels: Mapping[str, str]) -> str:
    kind = "socket" if place.stage == "rcvbuf" else place.stage
    end = labels.get(place.end, place.end)
    return f"{end} {kind}: {span(place.segments)}  ({place.name}: {place.because})"


def span(segments: tuple[float, float]) -> str:
    """`none`, `12`, `12 to 14`, `at most 14`."""
    least, most = (f"{value:,.0f}" for value in segments)
    if least == "0":
        return "none" if most == "0" else f"at most {most}"
    return least if least == most else f"{least} to {most}"


class Matched(Protocol):
    """The flows that both hosts see, and those that only this one sees."""

    @property
    def joined(self) -> tuple[Joined, ...]:
        """Flows that both hosts see."""

    @property
    def unmatched(self) -> tuple[Unmatched, ...]:
        """Flows that only this host sees."""


def unmatched(sides: Matched, hosts: tuple[str, str]) -> Iterator[str]:
    """Sentences about flows of this host that have no other end there."""
    missing: Sequence[Unmatched] = sides.unmatched
    if not sides.joined and not missing:
        yield from ("", f"no flow between {hosts[0]} and {hosts[1]} is active")
        return
    if sides.joined and not any(one.candidates for one in missing):
        return
    for one in missing[:MANY]:
        yield ""
        yield from wrap(
            f"{one.target} has no other end at {hosts[1]}: it goes to another host, or its "
            "addresses are translated on the way (NAT)", WIDE, subsequent_indent="  ",
        )  # fmt: skip
        if one.candidates:
            yield from _wrapped(
                f"same port and about the same rate there, not joined: {', '.join(one.candidates)}"
            )
    if len(missing) > MANY:
        yield f"and {units.many(len(missing) - MANY, 'flows')} more"
