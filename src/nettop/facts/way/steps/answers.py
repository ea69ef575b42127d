"""The interface of the answers, beside that of what they answer, or of the address that sends.

By the routes of most hosts both are one. A routing rule for the source address, or one default
route for several interfaces, sends the answers elsewhere. That is right where the networks behind
both interfaces know this host's address; a filter or a strict router there drops such answers. The
routes of a table go when their interface goes down, and the rule that leads there stays: then the
answers follow the next rule that has a route (fib_rules_lookup()).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..flow import HIDDEN, SUSPECT, Host, Step, address, inside, network
from ..legs import OUT, Leg
from ..lookup import MAIN, Hop, selects

PLACE: Final = 25


def look(leg: Leg) -> Iterator[Step]:
    """Answers that leave by another interface; a doubt where they are repeated in vain.

    So is what is sent from an address of another interface, as far as its handshakes show it.
    """
    hop, question = leg.hop, leg.question
    to, own = question.to, question.source
    arrives = leg.flow.arrives if leg.back else _place(leg.host, own if leg.flow.origin else "")
    if leg.role != OUT or hop.kind != "unicast" or not arrives:
        return
    if leg.back:
        yield from _beside(leg)
    waits, empty = _repeated(leg.host, own, leg.flow.port if leg.back else 0), hop.found.empty
    if _alike(leg.host, arrives, hop) or address(to).is_link_local:
        return
    if not (leg.back or waits or empty):
        return
    by, change = _led(leg, arrives)
    saw = f"what {to} sends to {own} arrives on {arrives}, and is answered on {hop.interface}"
    if _place(leg.host, own) == arrives:
        sent = f"its answers to {to} leave" if leg.back else f"what it sends to {to} leaves"
        saw = f"{own} is an address of {arrives}, and {sent} by {hop.interface}"
    six = "-6 " if ":" in to else ""
    yield Step(
        "answers", SUSPECT if waits or empty else HIDDEN, f"{saw} ({by})",
        f"ip {six}rule; ip {six}route get {to} from {own}", change,
    )  # fmt: skip


def _led(leg: Leg, arrives: str) -> tuple[str, str]:
    """What leads the packets there, and what leads them to the interface of their address."""
    hop, six, empty = leg.hop, "-6 " if ":" in leg.question.to else "", leg.hop.found.empty
    route = f"ip {six}route replace default via GATEWAY dev {arrives} table"
    rule = hop.found.by if any(row.interface == hop.interface for row in hop.found.routes) else None
    if empty is not None:
        by = f"route {hop.network}; {selects(empty)} leads to table {empty.table}, which is empty"
        again = f"and let what sets the routes of {arrives} do so each time that it comes up"
        return by, f"{route} {empty.table}, {again}"
    if rule is not None and (rule.source or rule.to or rule.mark):
        by, table = f"{selects(rule)}, table {rule.table}", str(rule.table)
        return by, f"{route} {table}; or ip {six}rule del priority {rule.priority}"
    return (f"route {hop.network}",
            f"{route} T; ip {six}rule add from {leg.question.source} lookup T")  # fmt: skip


def _place(host: Host, own: str) -> str:
    """The interface that has an address, which is of this link; empty: a loopback one, or none."""
    names = (one.interface for one in host.addresses if one.address == own)
    link = host.links.get(next(names, ""))
    return "" if link is None or link.loopback or link.kind == "dummy" else link.interface


def _beside(leg: Leg) -> Iterator[Step]:
    """Answers to a client of a network of this host that go to a gateway of that network.

    A table that a rule of policy routing leads to needs the routes to the networks of this host
    too: fib_rules_lookup() looks no further. The gateway may send them on, or drop them.
    """
    hop, question, by = leg.hop, leg.question, leg.hop.found.by
    net = next((
        f"{one.address}/{one.prefix}" for one in leg.host.addresses
        if one.interface == hop.interface and inside(question.to, f"{one.address}/{one.prefix}")
    ), None)  # fmt: skip
    own = net is not None and hop.gateway is not None and inside(hop.gateway, net)
    table = hop.table if hop.table is not None else hop.found.routes[0].table
    if net is None or not own or by is None or table == MAIN:
        return
    six, waits = "-6 " * (":" in net), _repeated(leg.host, question.source, leg.flow.port)
    lead = f"{network(net)} dev {hop.interface} table {table}"
    yield Step(
        "answers", SUSPECT if waits else HIDDEN, f"{question.to} is in {network(net)} on "
        f"{hop.interface}, and its answers go to {hop.gateway} instead: {selects(by)} leads to "
        f"table {table}, which has no route to that network",
        f"ip {six}route show table {table}; ip {six}rule", f"ip {six}route add {lead}",
    )  # fmt: skip


def _repeated(host: Host, local: str, port: int) -> int:
    """The handshakes at an address whose SYN-ACK is repeated."""
    return sum(
        row.unheard for row in host.frame.rows("half_open")
        if address(row.local) == address(local) and port in (0, row.local_port)
    )  # fmt: skip


def _alike(host: Host, arrives: str, hop: Hop) -> bool:
    """Whether answers leave where packets arrive; taken for so where the hash of the flow decides.

    So it is in a VRF, whose table the question does not name. A bridge stands for its ports.
    """
    came, went = host.links.get(arrives), host.links.get(hop.interface or "")
    if came is None or went is None or came.slave_kind == "vrf":
        return True
    ways = {row.interface for row in hop.found.routes}
    return (came.master or arrives) == (went.master or went.interface) or arrives in ways
