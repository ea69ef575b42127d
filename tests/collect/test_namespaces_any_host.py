"""Namespaces of any processes, against a reckoning of its own: who is seen, counted, left out."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import Memory, namespaces
from nettop.frame.rates import Partly
from nettop.host.source import Live

OWN, OTHERS = 10, (20, 30, 40)
CLOSED = 0  # of a process whose namespace may not be read
PIDS = st.dictionaries(st.integers(2, 40), st.sampled_from([CLOSED, OWN, *OTHERS]), max_size=12)


class Processes(Live):
    """Processes by number, each in a namespace, and the numbers that were looked up."""

    def __init__(self, spaces: dict[int, int]) -> None:
        super().__init__("/nowhere")
        self.spaces = spaces
        self.looked: list[str] = []

    def listing(self, path: str) -> list[str]:
        assert path == "/proc"
        return [*map(str, self.spaces), "net", "self", "1a"]

    def link(self, path: str) -> str:
        pid = path.split("/")[2]
        self.looked.append(pid)
        inode = OWN if pid == "self" else self.spaces[int(pid)]
        if inode == CLOSED:
            raise PermissionError(13, "Permission denied", path)
        return f"net:[{inode}]"

    def data(self, path: str) -> bytes:
        raise FileNotFoundError(2, "no such file", path)


def reckoned(spaces: dict[int, int]) -> dict[int, tuple[int, int]]:
    """Inode → first process and number of processes, where this is the outermost namespace."""
    many = Counter(spaces.values())
    closed = many.pop(CLOSED, 0)
    first = spaces.get(1, CLOSED)
    if first == CLOSED:
        outermost = many[OWN] + closed >= max((many[one] for one in OTHERS), default=0)
    else:
        outermost = first == OWN
    if not outermost:
        return {}
    return {one: (min(pid for pid, inode in spaces.items() if inode == one), many[one])
            for one in OTHERS if many[one]}  # fmt: skip


@given(PIDS, st.sampled_from([None, CLOSED, OWN, OTHERS[0]]))
def test_the_other_namespaces_of_any_host(spaces: dict[int, int], first: int | None) -> None:
    spaces = spaces if first is None else {1: first, **spaces}
    rows = namespaces.update(Processes(spaces), {})
    expected = reckoned(spaces)
    assert {row.inode: (row.pid, row.processes) for row in rows} == expected
    sizes = [(-row.processes, row.inode) for row in rows]
    assert sizes == sorted(sizes)
    closed = sum(inode == CLOSED for inode in spaces.values())
    if isinstance(rows, Partly):
        word = "es" * (closed > 1)
        assert f"of {closed} process{word} cannot be read" in rows.why
    else:
        assert not closed or not expected


def test_a_process_is_looked_up_at_once_and_then_every_sixth_reading() -> None:
    source = Processes(dict.fromkeys(range(1, 13), OWN))
    memory: Memory = {}
    counts = []
    for _ in range(8):
        source.looked.clear()
        namespaces.update(source, memory)
        counts.append(len(source.looked) - 1)  # nettop's own each time
    assert counts == [12, 2, 2, 2, 2, 2, 2, 2]
    source.spaces[99] = OTHERS[0]
    assert [row.inode for row in namespaces.update(source, memory)] == [OTHERS[0]]
    source.spaces[5] = OTHERS[1]
    seen = [len(namespaces.update(source, memory)) for _ in range(6)]
    assert seen[-1] == 2
    assert sorted(seen) == seen


@pytest.mark.parametrize("count", [64, 65, 70])
def test_the_largest_sixty_four_are_read(count: int) -> None:
    spaces = {pid: 1000 + pid for pid in range(2, count + 2)}
    rows = namespaces.update(Processes({1: OWN, **spaces}), {})
    assert [row.inode for row in rows] == sorted(spaces.values())[:64]
    left = count - 64
    said = f"{left} more network namespaces, with {left} processes, are not read"
    assert (rows.why if isinstance(rows, Partly) else "") == (said if left else "")


def test_without_a_reading_the_sockets_of_namespaces_are_not_known() -> None:
    with pytest.raises(OSError, match="not known"):
        namespaces.known_of({})
