"""Processes that move data are the same whether or not unread sockets are looked at again."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from flow_tables import socket
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import netns_tcp, socket_owners, sockets_tcp, threads
from nettop.collect._table import Memory, recall
from nettop.collect.socket_owners import _ProcessSockets

PIDS = range(1, 5)
SMALL = st.sampled_from([0, 0, 1, 1999, 2000, 5000])


@dataclass
class Step:
    """One reading of `threads`: which tables were read before it, and what they found."""

    sockets: bool
    others: bool
    owners: bool
    grown: list[tuple[int, int, int]]  # bytes, unsent and unread bytes of each socket


STEPS = st.lists(
    st.builds(
        Step, st.booleans(), st.booleans(), st.booleans(),
        st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=8, max_size=8),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


def _read(memory: Memory, step: Step, amounts: list[int], number: int) -> None:
    """What the collectors of sockets and owners leave in the memory."""
    here, others = recall(memory, sockets_tcp.Known), recall(memory, netns_tcp.Known)
    rows: dict[bytes, sockets_tcp.Seen] = {
        bytes([n]): (0, 0, socket(n, inode=n + 1, bytes_acked=amounts[n], notsent=a, recv_q=b))
        for n, (_, a, b) in enumerate(step.grown)
    }
    halves = dict(list(rows.items())[:4]), dict(list(rows.items())[4:])
    if step.sockets:
        here.seen = halves[0]
        here.reading += 1
    if step.others:
        others.seen = {7: halves[1]}
        others.reading += 1
    if step.owners:
        owned = {str(p): _ProcessSockets(inodes={"3": p, "4": p + 4}) for p in PIDS}
        owned.pop(str(number % 6), None)
        recall(memory, socket_owners.Known).held = owned
        recall(memory, socket_owners.Known).changes += 1


@given(STEPS)
def test_unread_sockets_need_no_second_look(steps: list[Step]) -> None:
    short: Memory = {}
    amounts = [0] * 8
    for number, step in enumerate(steps):
        amounts = [old + new for old, (new, _, _) in zip(amounts, step.grown, strict=True)]
        _read(short, step, amounts, number)
        whole = deepcopy(short)
        recall(whole, threads.Moving).changes = -1  # then all are looked at
        assert threads._moving(short) == threads._moving(whole)
        one, other = recall(short, threads.Moving), recall(whole, threads.Moving)
        assert (one.rounds, one.parts) == (other.rounds, other.parts)


class Counted(dict[bytes, sockets_tcp.Seen]):
    """The sockets of a reading; counts how often all of them are looked at."""

    looks = 0

    def items(self) -> Any:
        self.looks += 1
        return super().items()


def test_sockets_that_were_not_read_again_are_not_looked_at() -> None:
    memory: Memory = {}
    grown = [(0, 1, 0)] * 8
    _read(memory, Step(sockets=True, others=True, owners=True, grown=grown), [0] * 8, 0)
    here = recall(memory, sockets_tcp.Known)
    here.seen = counted = Counted(here.seen)
    for number in range(3):
        threads._moving(memory)
        _read(memory, Step(sockets=False, others=True, owners=False, grown=grown), [0] * 8, number)
    assert counted.looks == 1
    assert recall(memory, threads.Moving).parts[0].waiting == (1, 2, 3, 4)
