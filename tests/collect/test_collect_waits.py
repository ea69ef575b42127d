"""What threads wait for: calls, descriptors, the other ends of pipes, and what may not be read."""

import os
from pathlib import Path

import pytest
import waiting_programs
from waiting_programs import STACK, call, memory_of, process, rows

from nettop.collect import _descriptors, sockets_unix, threads, tun_readers, waits
from nettop.collect._table import recall
from nettop.frame.rates import Partly
from nettop.host.source import Live


def test_nothing_is_read_while_no_process_moves_data(tmp_path: Path) -> None:
    process(tmp_path, 7, "nc", call(0, 3), files=[(3, "/data/big", "0100000")])
    assert waits.update(Live(str(tmp_path)), memory_of(tmp_path)) == []


def test_a_pipe_leads_to_the_programs_at_its_other_end(tmp_path: Path) -> None:
    process(tmp_path, 7, "nc", call(0, 0), files=[(0, "pipe:[50]", "00")])
    process(tmp_path, 8, "gzip", call(0, 0),
            files=[(0, "pipe:[51]", "00"), (1, "pipe:[50]", "01")])  # fmt: skip
    process(tmp_path, 9, "sh", call(61), children="11\n", files=[(1, "pipe:[51]", "01")])
    process(tmp_path, 10, "other", call(0, 0), files=[(0, "pipe:[50]", "00")])
    process(tmp_path, 11, "sleep", call(230))
    memory = memory_of(tmp_path, 7)
    found = {row.pid: row for row in waits.update(Live(str(tmp_path)), memory)}
    assert {pid: (row.feeds, row.children) for pid, row in found.items()} == {
        7: ((8,), ()), 8: ((9,), ()), 9: ((), (11,)), 11: ((), ()),
    }  # fmt: skip
    assert found[11].kind == "timer"
    # the collector of threads reads the others as well, as long as they are there
    assert {*recall(memory, threads.Moving).others} == {8, 9}


def test_a_filter_that_runs_leads_to_who_writes_into_its_input(tmp_path: Path) -> None:
    process(tmp_path, 7, "nc", "running\n", state="R", files=[(0, "pipe:[50]", "00")])
    process(tmp_path, 8, "zstd", "running\n", state="R", files=[(1, "pipe:[50]", "01")])
    memory = memory_of(tmp_path, 7)
    found = {row.pid: row for row in waits.update(Live(str(tmp_path)), memory)}
    assert (set(found), found[7].feeds) == ({7, 8}, ())  # it waits for nobody now
    assert {*recall(memory, threads.Moving).others} == {8}


def test_a_program_behind_a_pipe_is_read_on_while_its_reader_runs(tmp_path: Path) -> None:
    """On a loaded host the reader waits for a CPU in many samples, not at its pipe."""
    process(tmp_path, 7, "nc", call(0, 0), files=[(0, "pipe:[50]", "00")])
    process(tmp_path, 8, "zstd", "running\n", state="R", files=[(1, "pipe:[50]", "01")])
    memory, source = memory_of(tmp_path, 7), Live(str(tmp_path))
    waits.update(source, memory)
    os.unlink(tmp_path / "proc/7/fd/0")
    (tmp_path / "proc/7/task/7/syscall").write_text("running\n")
    read = []
    for _ in range(threads.LATER + 1):
        waits.update(source, memory)
        read.append(8 in {row.pid for row in threads.update(source, memory)})
        recall(memory, threads.Moving).rounds = {7: 5}
    assert read == [True] * (threads.LATER - 1) + [False] * 2


@pytest.mark.parametrize(("flags", "sleeps", "kind"), [
    (0o1, "wait_for_partner", "output"), (0, "wait_for_partner", "input"), (1, "lookup_open", ""),
])  # fmt: skip
def test_who_opens_a_named_pipe_is_told_by_where_it_sleeps(
    tmp_path: Path, flags: int, sleeps: str, kind: str
) -> None:
    process(tmp_path, 7, "authd", call(257, 5, 4096, flags), sleeps=sleeps)
    (row,) = waits.update(Live(str(tmp_path)), memory_of(tmp_path, 7))
    assert (row.call, row.kind) == ("openat", kind)
    assert (row.type, row.word) == (("pipe", 4096) if kind else ("", 0))


def test_a_named_pipe_is_told_by_where_its_reader_sleeps(tmp_path: Path) -> None:
    files = [(3, "/run/audit", "0100000")]
    process(tmp_path, 7, "ship", call(0, 3), files=files, sleeps="anon_pipe_read")
    process(tmp_path, 8, "audit", call(73, 4),
            files=[(4, "/run/lock", "02"), (5, "/run/audit", "0100001")])  # fmt: skip
    process(tmp_path, 9, "other", call(0, 3), files=files, sleeps="request_wait_answer")
    process(tmp_path, 10, "elsewhere", call(230), files=[(3, "/run/audit", "0100001")])
    (tmp_path / "proc/10/fdinfo/3").write_text("flags:\t0100001\nmnt_id:\t24\nino:\t5\n")
    found = rows(tmp_path, 7, 9)
    assert {pid: (row.type, row.object, row.feeds) for pid, row in found.items()} == {
        7: ("pipe", "/run/audit", (8,)), 8: ("file", "/run/lock", ()),
        9: ("file", "/run/audit", ()),
    }  # fmt: skip


def test_who_holds_the_lock_of_a_file_is_named(tmp_path: Path) -> None:
    process(tmp_path, 7, "audit", call(73, 4), files=[(4, "/run/lock", "02")])
    process(tmp_path, 8, "compactor", call(230))
    (tmp_path / "proc/locks").write_text(
        "1: POSIX  ADVISORY  WRITE 3 fe:00:8 0 EOF\n"
        "2: FLOCK  ADVISORY  WRITE 8 fe:00:9 0 EOF\n"
        "2: -> FLOCK  ADVISORY  WRITE 6 fe:00:9 0 EOF\n"
        "2: -> FLOCK  ADVISORY  WRITE 7 fe:00:9 0 EOF\n"
        "3: OFDLCK ADVISORY  WRITE -1 fe:00:9 0 EOF\nodd\n"
    )
    found = rows(tmp_path, 7)
    assert (found[7].kind, found[7].object, found[7].holders) == ("lock", "/run/lock", (8,))
    assert found[8].kind == "timer"  # what it waits for is told as well


def test_a_writer_of_a_unix_socket_leads_to_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process(tmp_path, 7, "app", call(44, 3), files=[(3, "socket:[50]", "02")])
    process(tmp_path, 8, "log", call(202), files=[(4, "socket:[51]", "02")])
    for pid, number, inode in ((7, 3, 50), (8, 4, 51)):  # as Linux 5.14 tells them
        (tmp_path / f"proc/{pid}/fdinfo/{number}").write_text(f"flags:\t02\nino:\t{inode}\n")
    monkeypatch.setattr(sockets_unix, "peers", lambda _: {50: 51})
    assert rows(tmp_path, 7)[7].drains == (8,)


def test_the_programs_behind_tun_interfaces_are_looked_at(tmp_path: Path) -> None:
    process(tmp_path, 7, "vpnd", call(44, 3), files=[(3, "/dev/net/tun", "02")])
    process(tmp_path, 8, "other", call(202), files=[(3, "/dev/net/tun", "02")])
    (tmp_path / "proc/7/comm").write_text("vpnd\n")
    (tmp_path / "proc/7/fdinfo/3").write_text("pos:\t0\niff:\ttun0\n")
    memory = memory_of(tmp_path)
    assert tun_readers.update(Live(str(tmp_path)), memory) == [tun_readers.Row("tun0", 7, "vpnd")]
    threads.update(Live(str(tmp_path)), memory)
    assert [*recall(memory, threads.Moving).rounds] == [7]


def test_of_interfaces_of_one_name_the_program_of_this_namespace_is_told(tmp_path: Path) -> None:
    for pid, space in ((7, 1), (8, 2), ("self", 1)):
        if pid != "self":
            process(tmp_path, int(pid), "vpnd", call(44, 3), files=[(3, "/dev/net/tun", "02")])
            (tmp_path / f"proc/{pid}/comm").write_text("vpnd\n")
            (tmp_path / f"proc/{pid}/fdinfo/3").write_text("pos:\t0\niff:\ttun0\n")
        (tmp_path / f"proc/{pid}/ns").mkdir(parents=True)
        os.symlink(f"net:[{space}]", tmp_path / f"proc/{pid}/ns/net")

    def told() -> list[int]:
        return [row.pid for row in tun_readers.update(Live(str(tmp_path)), memory_of(tmp_path))]

    assert told() == [7]
    (tmp_path / "proc/7/fdinfo/3").write_text("pos:\t0\niff:\ttun1\n")
    assert sorted(told()) == [7, 8]  # it may hold the descriptor of this namespace's interface


def test_a_receiver_leads_to_who_reads_its_pipe(tmp_path: Path) -> None:
    process(tmp_path, 7, "nc", call(1, 1), files=[(1, "pipe:[50]", "01")])
    process(tmp_path, 8, "dd", call(0, 0), files=[(0, "pipe:[50]", "00")])
    assert rows(tmp_path, 7)[7].drains == (8,)


def test_the_pipe_of_messages_is_not_followed(tmp_path: Path) -> None:
    process(tmp_path, 7, "curl", call(7, 0x7F0000000000, 2, 50),
            files=[(1, "pipe:[50]", "01"), (2, "pipe:[51]", "01")])  # fmt: skip
    process(tmp_path, 8, "dd", call(0, 0), files=[(0, "pipe:[50]", "00")])
    process(tmp_path, 9, "log", call(0, 0), files=[(0, "pipe:[51]", "00")])
    assert rows(tmp_path, 7)[7].drains == (8,)


def test_of_two_files_the_one_that_is_not_the_socket_counts(tmp_path: Path) -> None:
    process(tmp_path, 7, "web", call(40, 4, 3), state="D",
            files=[(3, "/www/a", "0100000"), (4, "socket:[9]", "02")])  # fmt: skip
    process(tmp_path, 8, "relay", call(275, 4, 0, 5),
            files=[(4, "socket:[10]", "02"), (5, "pipe:[50]", "01")])  # fmt: skip
    found = rows(tmp_path, 7, 8)
    assert (found[7].kind, found[7].object) == ("input", "/www/a")
    assert (found[8].kind, found[8].object) == ("output", "pipe:[50]")


@pytest.mark.parametrize(("number", "time", "ends"), [
    (232, 50, True), (232, 0xFFFFFFFF, False), (232, 0, False),
])  # fmt: skip
def test_a_wait_for_events_that_ends_after_a_time_is_told(
    tmp_path: Path, number: int, time: int, *, ends: bool
) -> None:
    process(tmp_path, 7, "loop", call(number, 3, 1, 8, time))
    assert rows(tmp_path, 7)[7].ends is ends


@pytest.mark.parametrize(("text", "state", "told"), [
    ("running\n", "S", ("", "R")), ("-1 0x7ffc00000000 0x7f0000000000\n", "D", ("", "D")),
    (call(99999), "S", ("call 99999", "S")),
    # a 32-bit program has other numbers
    (call(0, 3).replace(STACK, "0xffe00000"), "S", ("", "S")),
])  # fmt: skip
def test_what_is_no_known_call(
    tmp_path: Path, text: str, state: str, told: tuple[str, str]
) -> None:
    process(tmp_path, 7, "nc", text, state=state)
    row = rows(tmp_path, 7)[7]
    assert ((row.call, row.state), row.kind) == (told, "")


def test_another_architecture_has_no_calls(tmp_path: Path) -> None:
    process(tmp_path, 7, "nc", call(0, 3))
    (row,) = waits.update(Live(str(tmp_path)), memory_of(tmp_path, 7, arch="riscv64"))
    assert (row.call, row.kind) == ("", "")


class Refusing(Live):
    """The calls of threads may not be read."""

    def text(self, path: str) -> str:
        if path.endswith("/syscall"):
            raise PermissionError(1, "Operation not permitted", path)
        return super().text(path)


def test_what_may_not_be_read_is_told_in_one_sentence(tmp_path: Path) -> None:
    process(tmp_path, 7, "nc", call(0, 3), state="D")
    process(tmp_path, 8, "nc", call(0, 3))
    found = waits.update(Refusing(str(tmp_path)), memory_of(tmp_path, 7, 8))
    assert isinstance(found, Partly)
    assert found.why.startswith("what 2 processes wait for: Operation not permitted: /proc/7/")
    assert [(row.state, row.call) for row in found] == [("D", None), ("S", None)]


def test_no_more_than_so_many_processes_are_looked_at(tmp_path: Path) -> None:
    for pid in range(100, 100 + 2 * waits.PROCESSES):
        process(tmp_path, pid, "nc", call(0, 3))
    found = rows(tmp_path, *range(100, 100 + 2 * waits.PROCESSES))
    assert len(found) == waits.PROCESSES


def test_both_tables_have_each_call_that_the_architecture_has() -> None:
    here, arm = (
        {one.name for one in _descriptors.TABLES[a].values()} for a in ("x86_64", "aarch64")
    )
    assert here - arm == {"poll", "select", "epoll_wait", "open", "pause"}
    assert arm <= here


V1_READ = "blkio/a/b/blkio.throttle.read_bps_device"


@pytest.mark.parametrize(("files", "throttled"), [
    ({V1_READ: "254:0 20971520\n"}, f"{V1_READ} allows 20971520 bytes/s on 254:0"),
    ({"blkio/a/blkio.throttle.read_iops_device": "254:0 100\n"},
     "blkio/a/blkio.throttle.read_iops_device allows 100 requests/s on 254:0"),  # one above
    ({"blkio/a/b/blkio.throttle.write_bps_device": "254:0 20971520\n"}, ""),
    ({V1_READ: "8:0 20971520\n"}, ""),
    ({"u/x/io.max": "254:0 rbps=2097152 wbps=max riops=max wiops=max\n"},
     "u/x/io.max allows rbps=2097152 on 254:0"),
    ({"u/io.max": "254:0 rbps=max wbps=max riops=120 wiops=max\n"},
     "u/io.max allows riops=120 on 254:0"),
    ({"u/x/io.max": "254:0 rbps=max wbps=9 riops=max wiops=max\n"}, ""),
])  # fmt: skip
def test_a_cgroup_that_limits_the_device_is_told(
    tmp_path: Path, files: dict[str, str], throttled: str
) -> None:
    process(tmp_path, 7, "nc", call(0, 3), state="D", files=[(3, "/data/big", "0100000")])
    limits(tmp_path, files)
    told = f"/sys/fs/cgroup/{throttled}" if throttled else ""
    assert rows(tmp_path, 7)[7].throttled == told


def limits(root: Path, files: dict[str, str]) -> None:
    """Limits of the cgroup of process 7, in files below /sys/fs/cgroup."""
    v1 = any(name.startswith("blkio") for name in files)
    (root / "proc/7/cgroup").write_text("4:blkio:/a/b\n0::/u/x\n" if v1 else "0::/u/x\n")
    for name, text in files.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)


def test_the_limit_of_a_block_device_that_is_opened_itself_is_told(tmp_path: Path) -> None:
    """Its descriptor is on the file system of /dev, whose number is another."""
    process(tmp_path, 7, "dd", call(0, 3), state="D", files=[(3, "/dev/loop0", "0140000")])
    limits(tmp_path, {V1_READ: "7:0 12582912\n"})
    (tmp_path / "sys/class/block/loop0").mkdir(parents=True)
    (tmp_path / "sys/class/block/loop0/dev").write_text("7:0\n")
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    os.symlink("../../devices/virtual/block/loop0", tmp_path / "sys/dev/block/7:0")
    (found,) = rows(tmp_path, 7).values()
    assert (found.device, found.throttled) == (
        "7:0", f"/sys/fs/cgroup/{V1_READ} allows 12582912 bytes/s on loop0 (7:0)"
    )  # fmt: skip


MAPS = """\
5640-5650 r--p 00000000 fe:00 11 /usr/bin/python3
5650-9650 r-xp 00000000 fe:00 11 /usr/bin/python3
7f00-7f90 r--s 00000000 08:01 12 /data/a large file
7fa0-7fa1 r--s 00000000 fe:00 13 /usr/share/zoneinfo/UTC
7fb0-ffff rw-p 00000000 00:00 0 [heap]
odd
"""


def test_the_largest_mapped_file_of_data_tells_the_device(tmp_path: Path) -> None:
    """A page of it is read in a call that sends: that call has no file."""
    process(tmp_path, 7, "nc", call(44, 3), state="D", files=[(3, "socket:[5]", "02")])
    limits(tmp_path, {V1_READ: "8:0 10485760\n"})
    assert rows(tmp_path, 7)[7].mapped == ""
    (tmp_path / "proc/7/maps").write_text(MAPS)
    found = rows(tmp_path, 7)[7]
    assert found.mapped == "/data/a large file"
    assert found.throttled == f"/sys/fs/cgroup/{V1_READ} allows 10485760 bytes/s on 8:0"


@pytest.mark.parametrize(("told", "feeds"), [
    ({8: "fuse_connection:\t45\n", 9: "fuse_connection:\t46\n"}, (8,)),
    ({8: "fuse_connection:\t46\n"}, ()),  # of another mount
    ({8: ""}, (8,)),  # an older kernel, one program
    ({8: "", 9: ""}, ()),  # which of them is not known
])  # fmt: skip
def test_the_program_that_serves_a_file_system_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: dict[int, str], feeds: tuple[int, ...]
) -> None:
    monkeypatch.setattr(waiting_programs, "MOUNTS", "24 1 0:45 / /mnt rw - fuse.store store rw\n")
    process(tmp_path, 7, "nc", call(0, 3), files=[(3, "/mnt/big", "0100000")])
    for pid, text in told.items():
        process(tmp_path, pid, "store", call(230), files=[(4, "/dev/fuse", "02")])
        (tmp_path / f"proc/{pid}/fdinfo/4").write_text(f"flags:\t02\nmnt_id:\t1\n{text}")
    found = rows(tmp_path, 7)
    assert found[7].feeds == feeds
    assert set(found) == {7, *feeds}  # what that one waits for is told as well


@pytest.mark.parametrize(("state", "place", "cgroup"), [
    ("D", "__refrigerator", "/f"), ("S", "get_signal", "/u"), ("S", "do_freezer_trap", "/u"),
    ("D", "folio_wait_bit_common", ""), ("T", "do_signal_stop", ""),
])  # fmt: skip
def test_a_frozen_thread_is_told_by_where_it_sleeps(
    tmp_path: Path, state: str, place: str, cgroup: str
) -> None:
    process(tmp_path, 7, "nc", call(230), state=state, sleeps=place)
    (tmp_path / "proc/7/cgroup").write_text("7:freezer:/f\n0::/u\n")
    assert rows(tmp_path, 7)[7].frozen == cgroup


STAT = "anon 5\nworkingset_refault_anon 3\nworkingset_refault_file 40\n"


@pytest.mark.parametrize(("group", "files", "limit", "evicted"), [
    ("0::/u/x", {"u/x/memory.stat": STAT, "u/memory.max": "900\n", "u/x/memory.max": "max\n"},
     "/sys/fs/cgroup/u/memory.max is 900", 43),
    ("0::/u", {"u/memory.stat": STAT, "u/memory.max": "900\n", "u/memory.high": "800\n"},
     "/sys/fs/cgroup/u/memory.high is 800", 43),
    ("3:memory:/u", {"memory/u/memory.stat": STAT, "memory/u/memory.limit_in_bytes": "900\n"},
     "/sys/fs/cgroup/memory/u/memory.limit_in_bytes is 900", 43),
    ("0::/u", {"u/memory.stat": STAT, "u/memory.max": "max\n"}, "", None),  # the host evicts
    ("3:memory:/u", {"memory/u/memory.stat": STAT,
                     "memory/u/memory.limit_in_bytes": "9223372036854771712\n"}, "", None),
    ("0::/", {"memory.stat": STAT}, "", None),
    ("0::/u", {"u/memory.stat": STAT}, "", 43),  # the limit could not be read
    ("0::/u", {"u/memory.max": "900\n"}, "/sys/fs/cgroup/u/memory.max is 900", None),
])  # fmt: skip
def test_pages_that_a_memory_cgroup_with_a_limit_evicted_are_counted(
    tmp_path: Path, group: str, files: dict[str, str], limit: str, evicted: int | None
) -> None:
    process(tmp_path, 7, "nc", call(0, 3))
    (tmp_path / "proc/7/cgroup").write_text(f"{group}\n")
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (found,) = rows(tmp_path, 7).values()
    assert (found.memory, found.evicted) == (limit, evicted)


def test_a_shell_with_many_children_does_not_hide_the_pipe_of_another_program(
    tmp_path: Path,
) -> None:
    """Of so many, the few behind the other program are looked at first."""
    children = range(20, 20 + waits.PROCESSES)
    process(tmp_path, 7, "sh", call(61), children=" ".join(map(str, children)))
    for pid in children:
        process(tmp_path, pid, "sleep", call(230))
    process(tmp_path, 8, "nc", call(0, 0), files=[(0, "pipe:[50]", "00")])
    process(tmp_path, 9, "gzip", call(0, 0), files=[(1, "pipe:[50]", "01")])
    assert {7, 8, 9} < rows(tmp_path, 7, 8).keys()
