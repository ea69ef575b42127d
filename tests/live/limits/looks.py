"""Looks at a network namespace by a process that has imported nettop already."""

import ctypes
import multiprocessing
import os
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any, Final

from nettop.commands import why
from nettop.facts.limits.words import document
from nettop.host.source import Live

PATIENCE: Final = 300.0  # seconds for all looks of one call: an emulated guest is slow
_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["live.limits.looks", "live.limits.rehearsal"])


def looks(space: str, count: int, seconds: float, address: str) -> list[list[dict[str, Any]]]:
    """The limits of an address, of looks one after the other without memory of those before."""
    here, there = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(
        target=_look, args=(there, space, count, seconds, address, dict(os.environ))
    )
    process.start()
    there.close()
    try:
        assert here.poll(PATIENCE), f"no look within {PATIENCE:g} s"
        try:
            found: list[list[dict[str, Any]]] = here.recv()
        except EOFError:
            raise AssertionError("the look failed: see its traceback") from None
    finally:
        here.close()
        process.kill()
        process.join()
    return found


def _look(
    door: Connection, space: str, count: int, seconds: float, address: str,
    environment: Mapping[str, str],
) -> None:  # fmt: skip
    os.environ.update(environment)
    there = os.open(f"/run/netns/{space}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(there, 0):
        raise OSError(ctypes.get_errno(), f"setns {space}")
    found = []
    for _ in range(count):
        _, facts = why.look(Live(), seconds)
        found.append([document(one) for one in facts.limits if address in one.target])
    door.send(found)
