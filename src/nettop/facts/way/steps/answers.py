"""The interface of the answers, beside that of what they answer.

By the routes of most hosts both are one. A routing rule for the source address, or one default
route for several interfaces, sends the answers elsewhere. That is right where the networks behind
both interfaces know this host's address; a filter or a strict router there drops such answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..flow import HIDDEN, SUSPECT, Host, Step, address, inside, network
from ..legs import OUT, Leg
from ..lookup import MAIN, Hop, selects

PLACE: Final = 25


def look(leg: Leg) -> Iterator[Step]:
    """Answers that leave by another interface; a doubt where they are repeated in vain."""
    hop, question, arrives = leg.hop, leg.question, leg.flow.arrives
    if leg.role != OUT or not leg.back or hop.kind != "unicast" or not arrives:
        return
    yield from _beside(leg)
    if _alike(leg.host, arrives, hop) or address(question.to).is_link_local:
        return
    to, own, six = question.to, question.source, "-6 " if ":" in question.to else ""
    rule = hop.found.by if any(row.interface == hop.interface for row in hop.found.routes) else None
    if rule is not None and (rule.source or rule.to or rule.mark):
        by, table = f"{selects(rule)}, table {rule.table}", str(rule.table)
        rest = f"or ip {six}rule del priority {rule.priority}"
    else:
        by, table, rest = f"route {hop.network}", "T", f"ip {six}rule add from {own} lookup T"
    change = f"ip {six}route replace default via GATEWAY dev {arrives} table {table}; {rest}"
    waits = _repeated(leg.host, own, leg.flow.port)
    here = any(one.interface == arrives and one.address == own for one in leg.host.addresses)
    saw = (
        f"{own} is an address of {arrives}, and its answers to {to} leave by {hop.interface}"
        if here
        else f"what {to} sends to {own} arrives on {arrives}, and is answered on {hop.interface}"
    )
    yield Step(
        "answers", SUSPECT if waits else HIDDEN, f"{saw} ({by})",
        f"ip {six}rule; ip {six}route get {to} from {own}", change,
    )  # fmt: skip


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
