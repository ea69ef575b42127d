"""A host with many processes: which of them are read, and what is said of the others."""

from pathlib import Path

import pytest

from nettop.collect import Memory, _pids, namespaces, processes, services
from nettop.collect._table import recall
from nettop.frame.rates import Unfinished
from nettop.host.source import Live

COUNT = 100


class Host(Live):
    """A directory that counts the files read, and has a clock of its own."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.files: list[str] = []
        self.lists = 0
        self.clock = 100.0

    def now(self) -> float:
        return self.clock

    def data(self, path: str) -> bytes:
        self.files.append(path)
        return super().data(path)

    def listing(self, path: str) -> list[str]:
        self.lists += path == "/proc"
        return super().listing(path)

    def put(self, pid: int, *, user: int = 0, state: str = "S", name: str = "sleep") -> None:
        """Write the line of a process; it holds one socket if its number is below 3."""
        folder = Path(self.root) / f"proc/{pid}"
        (folder / "fd").mkdir(parents=True, exist_ok=True)
        after = f"{state} 1 1 1 0 -1 0 0 0 0 0 {user} 0 0 0 20 0 1 0 777 0 0" + " 0" * 14
        (folder / "stat").write_text(f"{pid} ({name}) {after} 6 0 0 0")
        (folder / "ns").mkdir(exist_ok=True)
        if not (folder / "ns/net").is_symlink():
            (folder / "ns/net").symlink_to("net:[1]")
        if pid < 3 and not (folder / "fd/3").is_symlink():
            (folder / "fd/3").symlink_to(f"socket:[{pid}]")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(_pids, "MANY", 50)
    monkeypatch.setattr(_pids, "NEW", 40)
    monkeypatch.setattr(_pids, "TURN", 5)
    host = Host(tmp_path)
    for pid in range(1, COUNT + 1):
        host.put(pid)
    return host


def read(host: Host, memory: Memory) -> tuple[list[int], int]:
    """The processes with a row, and how many files were read for them, two seconds later."""
    host.clock += 2
    host.files.clear()
    rows = processes.update(host, memory)
    return [row.pid for row in rows], sum(path.endswith("/stat") for path in host.files)


def test_processes_at_rest_are_read_in_turn(host: Host) -> None:
    memory: Memory = {}
    for _ in range(3):
        read(host, memory)
    assert {read(host, memory)[1] for _ in range(10)} == {10}, "five for each second"
    host.files.clear()
    for _ in range(20):
        processes.update(host, memory)
    assert {path for path in host.files if path.endswith("/stat")} == {
        f"/proc/{pid}/stat" for pid in range(1, COUNT + 1)
    }


def test_one_that_runs_is_read_each_time_until_it_rests(host: Host) -> None:
    host.put(7, state="R", name="busy")
    memory: Memory = {}
    for turn in range(4):
        host.put(7, state="R", name="busy", user=100 * turn)
        pids, _ = read(host, memory)
        assert 7 in pids or turn < 2  # it may be among the last to be read for the first time
    assert read(host, memory)[0] == [7]
    found = [read(host, memory)[0] for _ in range(3)]
    assert found[-1] == []


def test_one_that_wakes_is_found_in_its_turn(host: Host) -> None:
    memory: Memory = {}
    for _ in range(5):
        read(host, memory)
    found = 0
    for turn in range(40):
        host.put(60, user=50 * turn, name="woken")
        found += 60 in read(host, memory)[0]
    assert found >= 19


def test_a_list_serves_for_some_seconds_and_then_new_ones_are_seen(host: Host) -> None:
    memory: Memory = {}
    for _ in range(4):
        read(host, memory)
    assert host.lists == 1
    host.put(500, name="new")
    assert 500 not in read(host, memory)[0]
    host.clock += 10
    assert 500 in read(host, memory)[0]
    assert host.lists == 2


def test_one_that_ended_is_forgotten(host: Host) -> None:
    memory: Memory = {}
    for _ in range(4):
        read(host, memory)
    folder = Path(host.root) / "proc/90"
    (folder / "stat").unlink()
    folder.rename(Path(host.root) / "gone")
    host.clock += 20
    for _ in range(25):
        read(host, memory)
    last = recall(memory, processes.Last)
    assert "90" not in last.seen
    assert "90" not in last.resting.turns


def test_names_of_services_are_those_of_the_lines(host: Host) -> None:
    host.put(99, name="irqbalance")
    host.put(2, name="kthreadd")
    memory: Memory = {}
    processes.update(host, memory)
    partly = services.update(host, memory)
    assert isinstance(partly, Unfinished)
    assert {row.running for row in partly if row.name == "tuned"} == {None}
    for _ in range(3):
        read(host, memory)
    host.files.clear()
    rows = {row.name: row for row in services.update(host, memory)}
    assert (rows["irqbalance"].pid, rows["tuned"].running) == (99, False)
    assert not any(path.endswith("/comm") for path in host.files)


def test_namespaces_of_many_are_looked_up_bit_by_bit(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces, "NEW", 60)
    (Path(host.root) / "proc/self/ns").mkdir(parents=True)
    (Path(host.root) / "proc/self/ns/net").symlink_to("net:[1]")
    (Path(host.root) / "proc/50/ns/net").unlink()
    (Path(host.root) / "proc/50/ns/net").symlink_to("net:[2]")
    memory: Memory = {}
    first = namespaces.update(host, memory)
    assert isinstance(first, Unfinished)
    assert first.why == "network namespaces of 40 of 100 processes not read yet"
    (row,) = namespaces.update(host, memory)
    assert (row.inode, row.processes) == (2, 1)
