"""Interfaces in limits: those limited as their largest flow, and those below the one of a flow.

One whose own stages are not full is limited as its largest flow. One that was named stays while it
moves half as much as the largest, since flows of about the same rate take turns.

Below the one of a flow are those of a bond, bridge, VLAN or tunnel, or of a namespace. Of several
it is the one that moves at least as much as the flow; where several do, none is known.
Which interface a tunnel uses is decided by the route of its remote address, which no table has: it
is the only other one that moves as much.

Of a flow of another network namespace (a pod, a container) the outer end of its veth pair belongs
to this host. The namespace receives what that end sends, so the queues of that end can limit a
receiver. That end receives what the namespace sends. The data then passes the policer of that end,
or the ifb to which a filter redirects it (tc-mirred(8)), and the interface by which it leaves this
host, by bridge or by route. Filters are not read: the ifb is the only one that moves as much as the
flow. Policy routing and translated destinations (DNAT) are not followed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Final

from ...collect.threads import LATE
from ...terms.dataclass import dataclass
from ...terms.text import few
from .. import Facts, contended
from ..flow_words import MOST, QUIET
from ..kinds.awaited import Awaited
from ..kinds.nic import Nic
from . import Limit, Reading
from .following import BINDS, following
from .looks import Look
from .window import Window
from .words import ANSWERS, FORWARDED, UNREAD, owner
from .words import stage as stage_words

MOVES: Final = 0.75  # of the rate of the flow: counters and sockets are read at different times
LEVELS: Final = 8  # a deeper stack is a loop
LOWEST: Final = ("nic", "veth", "loopback", "wireless")


def stack(look: Look) -> tuple[Look, ...]:
    """The look, then the same look at each interface below."""
    if look.nic is None or look.device is not None or look.nic.kind in LOWEST:
        return (look,)
    nic = look.nic
    return look.window.once(
        ("stack", look.over, look.target, look.direction), lambda: tuple(_stack(look, nic))
    )


def _stack(look: Look, nic: Nic) -> Iterator[Look]:
    yield look
    nics = {one.name: one for one in look.facts.nics}
    for _ in range(LEVELS):
        names = look.window.below.get(nic.name) or ()
        found = carries(look, [nics[name] for name in names if name in nics])
        port = nic.driver == "tun" and nic.master is not None  # a guest reads it, no interface
        if not names and nic.kind == "tunnel" and not port:
            found = _apart(look, nic, nics.values())
        if found is None:
            return
        nic = found
        yield replace(look, nic=nic)


def carries(look: Look, nics: Sequence[Nic]) -> Nic | None:
    """The only one of these that moves as much as the flow."""
    moving = [one for one in nics if 8 * moved(look, one) >= MOVES * look.rate]
    return moving[0] if len(moving) == 1 else None


def _apart(look: Look, tunnel: Nic, nics: Iterable[Nic]) -> Nic | None:
    """The interface that a tunnel uses; of a stack the upper one."""
    least = MOVES * moved(look, tunnel)
    moving = [
        one for one in nics
        if one.name != tunnel.name and one.kind != "loopback" and moved(look, one) >= least
    ]  # fmt: skip
    lower = {name for one in moving for name in look.window.below.get(one.name, ())}
    above = [one for one in moving if one.name not in lower]
    return above[0] if least and len(above) == 1 else None


def moved(look: Look, nic: Nic) -> float:
    """Bytes a second in the direction of the flow."""
    return look.window.counted(nic.name, f"{look.direction}_bytes") or 0.0


WHOLE: Final = 1.1  # of what an interface receives: an ifb that sends more is that of others


def arriving(look: Look) -> Look | None:
    """The end outside, which sends what a receiver of another namespace takes; else None."""
    return _end(look, "tx")


def entering(look: Look) -> Look | None:
    """The end outside, which receives what a sender of another namespace sends; else None."""
    return _end(look, "rx")


def leaving(look: Look) -> tuple[Look, ...]:
    """The interfaces that send what a sender of another namespace has sent; those that are known.

    An ifb, then the interface by which it leaves this host and those below that.
    """
    end = entering(look)
    if end is None or end.nic is None:
        return ()
    nic, out = end.nic, replace(end, direction="tx")
    return look.window.once(("leaving", look.over, look.target), lambda: _leaving(out, nic))


def redirected(look: Look) -> Look | None:
    """The ifb that sends all that an interface of this namespace receives; None: there is none.

    So what arrives is shaped (tc-mirred(8)). An ifb of which the rate differs may be of others.
    """
    if look.nic is None or look.device is not None:
        return None
    nics = {one.name: one for one in look.facts.nics}
    arrives = moved(look, look.nic)
    sending = replace(look, direction="tx")
    ifb = carries(sending, [nics[name] for name in look.window.ifbs if name in nics])
    if ifb is None or not MOVES * arrives <= moved(sending, ifb) <= WHOLE * arrives:
        return None
    return replace(sending, nic=ifb)


def _leaving(look: Look, end: Nic) -> tuple[Look, ...]:
    nics = {one.name: one for one in look.facts.nics}
    redirected = carries(look, [nics[name] for name in look.window.ifbs if name in nics])
    by = _uplink(look, end, nics)
    found = (replace(look, nic=redirected),) if redirected is not None else ()
    return (*found, *(stack(replace(look, nic=by)) if by is not None else ()))


def _end(look: Look, direction: str) -> Look | None:
    """This host's end of the veth pair of a flow, if it moves at least as much as the flow."""
    if look.device is None:
        return None
    entries = look.window.netns_links.entries(look.device)
    name = look.window.ends.get(entries[-1].now.peer) if entries else None
    nic = next((one for one in look.facts.nics if one.name == name), None)
    if nic is None:
        return None
    same = replace(look, nic=nic, device=None, direction=direction)
    return same if 8 * moved(same, nic) >= MOVES * look.rate else None


def _uplink(look: Look, end: Nic, nics: dict[str, Nic]) -> Nic | None:
    """The interface by which this host forwards what that end receives.

    It is the interface of the route or, if that end is in a bridge, the only other port that moves
    as much.
    """
    below = look.window.below
    bridge = next((name for name, ports in below.items() if end.name in ports), None)
    routed = look.window.routes().interface(look.flow.remote) if look.flow is not None else None
    by = nics.get(routed or "")
    if by is not None and by.name not in (bridge, end.name, "lo") and carries(look, [by]):
        return by
    ports = below.get(bridge, set()) - {end.name} if bridge is not None else set()
    return carries(look, [nics[name] for name in ports if name in nics])


TAKES: Final = 0.1  # of the packets: a core with less does not matter
WORK: Final = 0.02  # of a core in interrupts: with less, little is forwarded
REST: Final = 0.05  # of a core without work: with less it is full
ACKS: Final = 0.1  # of the rate of the other direction
SIZE: Final = 128  # bytes of a packet, on average: an acknowledgement with its options has less
INTERRUPTS: Final = "interrupts"  # take the cores: rules know the word
SHARE: Final = 0.5  # of the highest rate: a flow that was named stays while it moves this much

_Flow = tuple[str, str, str | None]  # target, direction, namespace: two may use one address


def flow_key(limit: Limit) -> _Flow:
    """Which direction of which flow a limit is of."""
    return limit.target, limit.direction, limit.namespace


def foremost(flows: Sequence[Limit], last: _Flow | None) -> Limit | None:
    """The flow that stands for these; `last`: the key of the one that did so before."""
    largest = max(flows, key=lambda one: one.rate or 0.0, default=None)
    same = next((one for one in flows if flow_key(one) == last), None)
    if largest is None or same is None:
        return largest
    return same if (same.rate or 0.0) >= SHARE * (largest.rate or 0.0) else largest


@dataclass(slots=True)
class Interfaces:
    """Remembers the flow that stands for each direction of an interface."""

    last: dict[object, _Flow] = field(default_factory=dict)

    def build(
        self, nics: Sequence[Limit], flows: Sequence[Limit], *, read: bool = True,
        forwards: Container[tuple[str | None, str]] = (), cpu: Reading | None = None,
        waits: str = "", answers: Container[tuple[str | None, str]] = (),
    ) -> list[Limit]:  # fmt: skip
        """The limits of the interfaces, from their own stages and the limits of flows.

        `read`: whether the TCP sockets were read; else that no flow waits is not known. `forwards`:
        the directions of interfaces whose traffic is of others (`forwarded`). `cpu`: `spent`.
        `waits`: `waited`. `answers`: `answered`.
        """
        by_way: dict[object, list[Limit]] = {}
        for flow in flows:
            if flow.over == "flow" or flow.direction == "tx":  # or a UDP socket that sends
                by_way.setdefault(_way(flow), []).append(flow)
        chosen = {way: foremost(some, self.last.get(way)) for way, some in by_way.items()}
        self.last = {way: flow_key(one) for way, one in chosen.items() if one is not None}
        out = []
        for one in nics:
            named = chosen.get(_way(one))
            if one.stage.stage != "unknown":
                out.append(one)
            elif named is not None:
                out.append(as_flow(one, named))
            elif one.namespace is None and (one.nic, one.direction) in forwards:
                cause = _cause(one, (*nics, *flows))
                little = (one.rate or 0.0) < QUIET or _answers(one, nics)
                if cpu is None or cause is not None or little:
                    out.append(_forwarded(one, cause))
                else:
                    out.append(_spent(one, cpu, nics))
            elif one.namespace is None and (one.nic, one.direction) in answers:
                out.append(_with(one, _ANSWERS))
            else:
                out.append(_idle(one, read, waits))
        return out


def forwarded(facts: Facts) -> frozenset[tuple[str | None, str]]:
    """The directions of interfaces, with their names, that carry traffic of others.

    All, where IP forwards most of what it receives (InForwDatagrams of InReceives,
    net/ipv4/ip_forward.c); else those of the ports of a bridge that itself carries little: then the
    port receives from other ports, or sends to them (net/bridge/br_forward.c).
    """
    host, nics = facts.host, {one.name: one for one in facts.nics}
    routes = bool(host.ip_in) and (host.ip_forwarded or 0.0) >= MOST * (host.ip_in or 0.0)
    found = set()
    for one in facts.nics:
        above = nics.get(one.master or "")
        for direction in ("rx", "tx"):
            own, bridged = (getattr(nic.per_s, f"{direction}_bytes", None) or 0.0
                            if nic is not None else 0.0 for nic in (one, above))  # fmt: skip
            bridges = above is not None and above.kind == "bridge" and bridged < SHARE * own
            if one.kind != "loopback" and (routes or bridges):
                found.add((one.name, direction))
    return frozenset(found)


_ANSWERS: Final = Reading("unknown", "there", "not limited", "inferred", ANSWERS)


def answered(window: Window, facts: Facts) -> frozenset[tuple[str | None, str]]:
    """The directions of interfaces with acknowledgements only, of what goes the other way.

    They are small packets, and carry little beside what they acknowledge.
    """
    found = set()
    for nic in facts.nics:
        for direction, back in (("rx", "tx"), ("tx", "rx")):
            moved, count, other = (
                window.counted(nic.name, name) or 0.0
                for name in (f"{direction}_bytes", f"{direction}_packets", f"{back}_bytes")
            )
            if count and moved < ACKS * other and moved <= SIZE * count:
                found.add((nic.name, direction))
    return frozenset(found)


def spent(window: Window, facts: Facts) -> Reading | None:
    """The cores that take the packets of this host, if none has idle time; None: one has.

    A core takes packets by softnet_stat. Programs of containers and guests, which move what is
    forwarded, also run elsewhere: their cores are full only where each core of the host is.
    """
    taken = {core.cpu: core.processed or 0.0 for core in facts.cores}
    loads = {cpu: load for cpu in taken if (load := window.core(cpu)) is not None}
    kernel = {cpu: (load["softirq"] + load["irq"]) / 100 for cpu, load in loads.items()}
    full = {cpu for cpu, load in loads.items() if load["idle"] + load["iowait"] <= 100 * REST}
    every = sum(taken.values())
    serving = {cpu for cpu, each in taken.items() if each > TAKES * every}
    if not serving or not serving <= full or sum(kernel[cpu] for cpu in serving) < WORK:
        return None
    alone = min(kernel[cpu] for cpu in serving) >= BINDS  # no program is needed to fill them
    if len(full) < len(taken) and not alone:
        return None
    most = max(serving, key=kernel.__getitem__)
    by = few(contended.takers(window.taken, full), contended.NAMED) or "programs"
    named, by = (serving, INTERRUPTS) if alone else (full, by)
    why = f"{contended.cores(named)} {'is' if len(named) == 1 else 'are'} full, by {by}"
    return Reading("core", "here", "the CPU", "inferred", why, 1.0, None, 1.0, None, most, by)


def waited(facts: Facts) -> str:
    """`proxy waits for answers of 192.0.2.7:8080`: the end whose answer is late, in this frame."""
    ends: Iterable[Awaited] = facts.more.get("awaited", ())
    late = [one for one in ends if (one.longest or 0.0) * 1e3 >= LATE]
    first = max(late, key=lambda one: one.longest or 0.0, default=None)
    return f"{first.who} waits for answers of {first.id}" if first is not None else ""


def _spent(one: Limit, cpu: Reading, nics: Iterable[Limit]) -> Limit:
    """An interface whose forwarded traffic waits for these cores; from or to which other one."""
    rate = one.rate or 0.0
    others = [other.target for other in nics
              if other.direction != one.direction and other.namespace is None
              and other.target != one.target and MOVES * rate <= (other.rate or 0.0) <= rate / MOVES
             ]  # fmt: skip
    way = "arrives" if one.direction == "tx" else "leaves"
    other = f"; the forwarded traffic {way} by {others[0]}" if len(others) == 1 else ""
    return _with(one, replace(cpu, because=f"{cpu.because}{other}"))


def _answers(one: Limit, nics: Iterable[Limit]) -> bool:
    """Whether it carries little more than the acknowledgments of what goes the other way."""
    return any((other.target, other.namespace) == (one.target, one.namespace)
               and (one.rate or 0.0) < ACKS * (other.rate or 0.0) for other in nics)  # fmt: skip


def _cause(one: Limit, every: Iterable[Limit]) -> Limit | None:
    """What limits the traffic that an interface forwards, if something at this host does.

    Another interface, or a flow of another network namespace of this host, that moves as much.
    """
    rate = one.rate or 0.0
    same = [
        other for other in every
        if (other.namespace is None if other.over == "nic" else other.namespace is not None)
        and other.stage.end == "here" and other.stage.kind != "inferred"
        and MOVES * rate <= (other.rate or 0.0) <= rate / MOVES
    ]  # fmt: skip
    return max(same, key=lambda other: (other.over == "nic", other.rate or 0.0), default=None)


def _way(limit: Limit) -> object:
    """A direction of an interface, in its namespace; of a flow, that of its interface."""
    return limit.namespace, limit.nic, limit.device, limit.direction


def as_flow(one: Limit, flow: Limit) -> Limit:
    """An interface that is limited as the flow that stands for it.

    The capacities are those of the interface only if that flow is most of its rate.
    """
    own = {(step.stage, step.end): step for step in one.ladder if step.stage != "unknown"}
    alone = (flow.rate or 0.0) >= MOST * (one.rate or 0.0)

    def shown(step: Reading) -> Reading:
        return own.pop((step.stage, step.end), None) or (
            step if alone else replace(step, capacity=None)
        )

    why = f"its flow {flow.target}: {flow.stage.because}"
    first = replace(shown(flow.stage), because=why, name=flow.stage.name)
    rest = [shown(step) for step in flow.ladder if step is not flow.stage]
    ladder = (first, *rest, *own.values())
    whole = replace(one, stage=first, joint=flow.joint, ladder=ladder,
                    pid=flow.pid, process=flow.process, flow=flow.target)  # fmt: skip
    return replace(whole, next=flow.next if alone else following(whole))


@lru_cache(maxsize=256)  # on a quiet host the same verdicts come back each second
def _idle(one: Limit, read: bool, waits: str) -> Limit:
    """An interface on which no flow of this host wants to move more, as far as they are read."""
    if one.direction == "tx":
        why = "no TCP flow of this host has more data to send" if read else UNREAD
        why += f": {waits}" if waits else ""
        stage = Reading("application", "here", "programs of this host", "inferred", why, None)
    else:
        why = "no data waits at this end: the senders send no more" if read else UNREAD
        stage = Reading("peer", "there", "senders", "inferred", why, None)
    return _with(one, stage)


def _forwarded(one: Limit, cause: Limit | None) -> Limit:
    """An interface with traffic of others, of which nothing here is full; what limits it then."""
    by, why = "", FORWARDED
    if cause is not None:
        by, why = f"{stage_words(cause.stage)} of {owner(cause)}", f"{why}: {cause.stage.because}"
    return _with(one, Reading("unknown", "there", by, "inferred", why))


def _with(one: Limit, stage: Reading) -> Limit:
    rest = tuple(step for step in one.ladder if step.stage != "unknown")
    known = replace(one, stage=stage, ladder=(stage, *rest))
    return replace(known, next=following(known))
