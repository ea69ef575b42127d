"""The programs that are told with a held one, and where one loses packets."""

from types import SimpleNamespace
from typing import Any

from held_programs import facts, program, thread

from nettop.collect import tun_readers
from nettop.facts.kinds.program import build
from nettop.frame.rates import Entry, Frame


def test_whose_data_a_unix_socket_lacks_is_told() -> None:
    waiting = thread(call="recvfrom", kind="input", object="socket:[4]", feeds=(12,))
    found = facts(program(), program(12, "db"), waits=[waiting, thread(12, state="T")])[9]
    assert (
        found.does
        == "waits in recvfrom() for data of db[12], which is stopped by a signal (state T)"
    )
    assert "kill -CONT 12" in found.cure


def test_a_program_behind_a_tun_interface_has_its_losses() -> None:
    nic = SimpleNamespace(
        name="tun0", driver="tun", per_s=SimpleNamespace(tx_packets=0.0, tx_dropped=90.0)
    )
    frame = Frame(0.0, 0.0, {
        "program_states": (Entry(program()),), "tun_readers": (Entry(tun_readers.Row("tun0", 9)),),
    })  # fmt: skip
    known: Any = SimpleNamespace(more={}, processes=(), flows=(), nics=(nic,))
    (found,) = build(frame, known)
    assert (found.nic, found.taken, found.dropped) == ("tun0", 0.0, 90.0)
