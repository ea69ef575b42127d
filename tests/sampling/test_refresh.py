"""How long tables may wait, for frames of sockets with and without known processes."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from nettop import collect
from nettop.frame.rates import Frame
from nettop.sampling.refresh import MOVES, QUIET, REST, SINCE, UNKNOWN, UNSEEN, RefreshPolicy

TABLES = ("sockets_tcp", "sockets_udp", "packet_sockets", "netns_tcp", "netns_udp")


def table(*inodes: int) -> Sequence[Any]:
    return [SimpleNamespace(now=SimpleNamespace(inode=inode)) for inode in inodes]


def frame(at: float, **tables: Sequence[Any]) -> Frame:
    return Frame(at, at, tables)


def rests(policy: RefreshPolicy, seen: Frame | None) -> bool:
    return policy.of(seen, ()).get("socket_owners") == REST


def test_tables_that_no_pane_shows_may_wait() -> None:
    waits = RefreshPolicy().of(None, ("sockets_tcp", "cpu"))
    assert waits == dict.fromkeys(collect.resting() - {"sockets_tcp", "cpu"}, UNSEEN)
    assert "sockets_tcp" in collect.resting()


def moving(at: float, rx: float, tx: float = 0.0, table: str = "link_stats") -> Frame:
    rates = {"rx_bytes": rx, "tx_bytes": tx}
    return frame(at, **{"link_stats": [SimpleNamespace(rate={}.get, rated=True, still=True)],
        table: [SimpleNamespace(rate=rates.get, rated=True, still=False)]})  # fmt: skip


def test_after_the_first_frame_no_table_waits() -> None:
    first = frame(0.0, link_stats=[SimpleNamespace(rate={}.get, rated=False, still=False)])
    policy = RefreshPolicy()
    assert "sockets_tcp" not in policy.of(first, ())
    assert policy.of(moving(1.0, 0.0), ())["sockets_tcp"] == UNSEEN


def test_a_quiet_host_is_read_less_often_and_the_first_data_ends_that() -> None:
    policy = RefreshPolicy()

    def wait(seen: Frame) -> float:
        return policy.of(seen, (), rest=True)["sockets_tcp"]

    assert wait(moving(0.0, MOVES)) == UNSEEN
    assert wait(moving(SINCE - 0.1, MOVES)) == UNSEEN
    assert wait(moving(SINCE, MOVES)) == policy.unseen == QUIET
    assert wait(moving(SINCE + 1, 0.0, MOVES + 1)) == policy.unseen == UNSEEN
    assert wait(moving(2 * SINCE, 0.0)) == UNSEEN
    assert wait(moving(2 * SINCE + 1, 0.0)) == QUIET
    assert wait(moving(2 * SINCE + 2, MOVES + 1, table="netns_links")) == UNSEEN
    assert wait(moving(0.0, 0.0)) == UNSEEN  # the clock of another boot


def test_a_host_without_counters_and_a_recording_are_not_quiet() -> None:
    policy = RefreshPolicy()
    for at in (0.0, 2 * SINCE):
        assert policy.of(frame(at), (), rest=True)["sockets_tcp"] == UNSEEN
    for at in (3 * SINCE, 5 * SINCE):
        assert policy.of(moving(at, 0.0), ())["sockets_tcp"] == UNSEEN


@pytest.mark.parametrize("name", TABLES)
def test_owners_are_searched_while_a_socket_of_any_table_is_new(name: str) -> None:
    policy, owners = RefreshPolicy(), table(1, 0)
    known = {name: table(1, 0)}  # an inode of 0 has no process
    assert rests(policy, frame(0.0, socket_owners=owners, **known))
    new = {name: table(1, 2)}
    assert not rests(policy, frame(1.0, socket_owners=owners, **new))
    found = {"socket_owners": table(1, 2), **new}
    assert rests(policy, frame(2.0, **found))


def test_a_socket_whose_process_is_not_found_in_a_minute_is_given_up() -> None:
    policy, tables = RefreshPolicy(), {"socket_owners": table(), "sockets_tcp": table(7)}
    assert not rests(policy, frame(10.0, **tables))
    assert not rests(policy, frame(10.0 + UNKNOWN - 0.1, **tables))
    assert rests(policy, frame(10.0 + UNKNOWN, **tables))
    later = {**tables, "sockets_tcp": table(7)}  # the same socket, read again
    assert rests(policy, frame(11.0 + UNKNOWN, **later))
    other = {**tables, "sockets_tcp": table(7, 8)}
    assert not rests(policy, frame(12.0 + UNKNOWN, **other))
    gone = {**tables, "sockets_tcp": table()}
    assert rests(policy, frame(13.0 + UNKNOWN, **gone))
    assert not rests(policy, frame(14.0 + UNKNOWN, **later))  # anew


def test_tables_that_were_not_read_again_are_not_walked_again() -> None:
    policy, tables = RefreshPolicy(), {"sockets_tcp": table(7)}
    policy.of(frame(0.0, **tables), ())
    met = policy._met
    policy.of(frame(1.0, **tables), ())
    assert policy._met is met
    policy.of(frame(1.0, sockets_tcp=table(7)), ())
    assert policy._met is not met
    assert policy._met == {7: 0.0}
