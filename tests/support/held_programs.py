"""Programs of a made-up host that may be held by something, with the threads that show it."""

from types import SimpleNamespace
from typing import Any

from asleep import asleep
from flow_tables import socket

from nettop.collect import program_states, socket_owners, waits
from nettop.facts.kinds import listener
from nettop.facts.kinds.program import Program, build
from nettop.frame.rates import Entry, Frame


def program(pid: int = 9, name: str = "app", **known: Any) -> program_states.Row:
    return program_states.Row(pid, name, **{"thaw": "", **known})


def thread(
    pid: int = 9, state: str = "S", call: str | None = "", kind: str = "", **known: Any
) -> waits.Row:
    return asleep(pid, pid, 1, "app", state, call, kind, **known)


def facts(*states: program_states.Row, **tables: Any) -> dict[int, Program]:
    """The programs of a host where app[9] listens, and nine connections wait."""
    frame = Frame(0.0, 0.0, {
        "sockets_tcp": (Entry(socket(1, state="listen", inode=7, recv_q=9, send_q=128)),),
        "program_states": tuple(map(Entry, states)),
        "socket_owners": (Entry(socket_owners.Row(7, 9, "app")),),
        **{name: tuple(one if isinstance(one, Entry) else Entry(one) for one in rows)
           for name, rows in tables.items()},
    })  # fmt: skip
    known: Any = SimpleNamespace(
        more={"listener": listener.build(frame, None)}, processes=(), flows=(), cores=()
    )
    return {one.pid: one for one in build(frame, known)}
