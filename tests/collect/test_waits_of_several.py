"""What threads wait for in calls of several descriptors or none, and the file of a request."""

import os
from pathlib import Path

import pytest
from waiting_programs import call, memory_of, process, rows

from nettop.collect import sockets_udp, sockets_unix, waits
from nettop.collect._table import recall
from nettop.host.source import Live

LIMIT = "/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device"


@pytest.mark.parametrize(("number", "arguments", "kind"), [
    (270, (0, 0, 0, 0, 0x7FF), "timer"),  # select(undef, undef, undef, 0.02) of Perl
    (7, (0, 0, 50), "timer"),  # poll(NULL, 0, 50)
    (271, (0, 0, 0x7FF), "timer"),
    (7, (0x7FF, 2, 50), "events"),
    (270, (4, 0x7FF, 0, 0, 0x7FF), "events"),
    (270, (0, 0, 0, 0, 0), "events"),  # it waits for a signal
    (232, (3, 1, 8, 50), "events"),
])  # fmt: skip
def test_a_call_without_descriptors_is_a_timer(
    tmp_path: Path, number: int, arguments: tuple[int, ...], kind: str
) -> None:
    process(tmp_path, 7, "perl", call(number, *arguments))
    assert rows(tmp_path, 7)[7].kind == kind


@pytest.mark.parametrize(("number", "arguments", "state", "told"), [
    (275, (4, 0, 5), "D", ("output", "/data/out", True)),  # splice() of a pipe to a file
    (275, (4, 0, 5), "S", ("input", "pipe:[50]", False)),  # the pipe is empty
    (326, (6, 0, 5), "D", ("input", "/data/in", False)),
    (1, (5,), "D", ("output", "/data/out", True)),
])  # fmt: skip
def test_of_two_files_the_one_whose_device_is_waited_for_counts(
    tmp_path: Path, number: int, arguments: tuple[int, ...], state: str,
    told: tuple[str, str, bool],
) -> None:  # fmt: skip
    files = [(4, "pipe:[50]", "00"), (5, "/data/out", "0110001"), (6, "/data/in", "0100000")]
    process(tmp_path, 7, "store", call(number, *arguments), state=state, files=files)
    found = rows(tmp_path, 7)[7]
    assert (found.kind, found.object, found.synced) == told


@pytest.mark.parametrize(("flags", "told"), [
    ("0140000", ("/data/big", True)), ("0100000", ("", False)),
])  # fmt: skip
def test_the_file_of_requests_in_the_background_is_the_one_past_the_page_cache(
    tmp_path: Path, flags: str, told: tuple[str, bool]
) -> None:
    files = [(3, "/data/big", flags), (4, "socket:[9]", "02"), (5, "/data/log", "0100001")]
    process(tmp_path, 7, "aio", call(208, 0x7FF, 1, 8, 0x7FF, 0), files=files)
    found = rows(tmp_path, 7)[7]
    assert (found.kind, found.object, found.direct) == ("events", *told)


def test_of_several_files_past_the_page_cache_none_is_named(tmp_path: Path) -> None:
    files = [(3, "/data/a", "0140000"), (4, "/data/b", "0140000")]
    process(tmp_path, 7, "aio", call(208, 0x7FF, 1, 8, 0x7FF, 0), files=files)
    assert rows(tmp_path, 7)[7].object == ""


@pytest.mark.parametrize(
    ("sockets", "told"), [(["socket:[9]"], "pipe:[50]"), (["socket:[9]", "socket:[8]"], "")]
)
def test_the_pipe_of_a_filter_that_waits_for_events_is_told(
    tmp_path: Path, sockets: list[str], told: str
) -> None:
    more = [(3 + number, target, "02") for number, target in enumerate(sockets)]
    process(tmp_path, 7, "nc", call(7, 0x7FF, 2, 0xFFFFFFFF),
            files=[(0, "pipe:[50]", "00"), *more])  # fmt: skip
    process(tmp_path, 8, "limit", call(270, 0, 0, 0, 0, 0x7FF), files=[(1, "pipe:[50]", "01")])
    found = rows(tmp_path, 7)
    assert (found[7].object, found[7].feeds, found[8].kind) == (told, (8,), "timer")


@pytest.mark.parametrize(("disk", "told"), [
    ("254:0", True),
    ("254:1", False),  # another disk of the same driver
    ("254:2", True),  # the disk of which the file is on a partition
])  # fmt: skip
def test_the_root_of_the_old_hierarchy_has_limits_as_well(
    tmp_path: Path, disk: str, *, told: bool
) -> None:
    process(tmp_path, 7, "tar", call(0, 3), state="D", files=[(3, "/data/a", "0100000")])
    (tmp_path / "proc/7/cgroup").write_text("4:blkio:/\n0::/\n")
    file = tmp_path / LIMIT[1:]
    file.parent.mkdir(parents=True)
    file.write_text(f"{disk} 500\n")
    blocks = tmp_path / "sys/dev/block"
    blocks.mkdir(parents=True)
    os.symlink("../../devices/virtual/block/dm-2/dm-2p1", blocks / "254:0")
    for name, at in (("dm-1", "254:1"), ("dm-2", "254:2")):
        os.symlink(f"../../devices/virtual/block/{name}", blocks / at)
    limited = rows(tmp_path, 7)[7].throttled
    assert limited.startswith(f"{LIMIT} allows 500 requests/s on") is told
    assert bool(limited) is told


@pytest.mark.parametrize(("bound", "path"), [(9, "/run/kms.sock"), (8, "/run/kms.sock"), (5, "")])
def test_the_path_of_a_unix_socket_is_that_of_its_end_that_is_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: int, path: str
) -> None:
    monkeypatch.setattr(sockets_unix, "peers", lambda _: {8: 9, 9: 8})
    process(tmp_path, 7, "client", call(0, 3), files=[(3, "socket:[8]", "02")])
    process(tmp_path, 9, "kms", call(230), files=[(4, "socket:[9]", "02")])
    (tmp_path / "proc/9/net").mkdir()
    (tmp_path / "proc/9/net/unix").write_text(
        "Num RefCount Protocol Flags Type St Inode Path\n"
        "0: 00000002 00000000 00000000 0001 03 12\n"
        f"0: 00000003 00000000 00000000 0001 03 {bound} /run/kms.sock\n"
    )
    assert rows(tmp_path, 7)[7].path == path


@pytest.mark.parametrize(("number", "arguments", "word"), [
    (202, (0x7F00, 0x80, 2), 0x7F00),  # a mutex that another thread holds
    (202, (0x7F00, 0x89, 0, 0x7FF), 0x7F00),  # it asks again after a time
    (202, (0x7F00, 0x89, 0), 0),  # idle until there is work
])  # fmt: skip
def test_a_futex_that_is_a_lock_is_told(
    tmp_path: Path, number: int, arguments: tuple[int, ...], word: int
) -> None:
    process(tmp_path, 7, "parser", call(number, *arguments))
    assert (rows(tmp_path, 7)[7].kind, rows(tmp_path, 7)[7].word) == ("lock", word)


def test_the_number_of_a_semaphore_is_told(tmp_path: Path) -> None:
    process(tmp_path, 7, "prefork", call(65, 0x20, 0x7FF, 1))
    assert (rows(tmp_path, 7)[7].type, rows(tmp_path, 7)[7].object) == ("semaphore", "32")


@pytest.mark.parametrize(("waits_in", "inode", "told"), [
    ((7, 0x7FF, 2, 0xFFFFFFFF), 19, ("inotify", "/data/log", (9,))),
    ((0, 4), 19, ("inotify", "/data/log", (9,))),
    ((7, 0x7FF, 2, 0xFFFFFFFF), 20, ("", "", ())),  # it watches another file
])  # fmt: skip
def test_the_file_for_whose_growth_a_program_waits_is_told_with_who_writes_it(
    tmp_path: Path, waits_in: tuple[int, ...], inode: int, told: tuple[str, str, tuple[int, ...]]
) -> None:
    log = "/data/log"
    process(tmp_path, 7, "tail", call(*waits_in),
            files=[(3, log, "00"), (4, "anon_inode:inotify", "00")])  # fmt: skip
    process(tmp_path, 9, "app", call(230), files=[(3, log, "01"), (5, log, "00")])
    for place in ("7/fdinfo/3", "9/fdinfo/3", "9/fdinfo/5"):
        with (tmp_path / "proc" / place).open("a") as file:
            file.write("ino:\t19\n")
    with (tmp_path / "proc/7/fdinfo/4").open("a") as file:
        file.write(f"inotify wd:1 ino:{inode:x} sdev:fe00000 mask:c06 ignored_mask:0\n")
    found = rows(tmp_path, 7)[7]
    assert (found.type, found.object, found.feeds) == told


@pytest.mark.parametrize(("arguments", "after"), [
    ((7, 0x7FF, 2, 1000), 1000), ((7, 0x7FF, 2, 0xFFFFFFFF), None), ((271, 0x7FF, 2, 0x7FF), None),
])  # fmt: skip
def test_the_time_after_which_a_call_ends_is_told(
    tmp_path: Path, arguments: tuple[int, ...], after: int | None
) -> None:
    process(tmp_path, 7, "curl", call(*arguments))
    assert rows(tmp_path, 7)[7].after == after


def test_the_tracer_of_a_stopped_thread_is_told(tmp_path: Path) -> None:
    process(tmp_path, 7, "export", call(1, 3), state="t")
    (tmp_path / "proc/7/status").write_text("Name:\texport\nTracerPid:\t90\n")
    assert rows(tmp_path, 7)[7].tracer == 90


@pytest.mark.parametrize(("sleeps", "used", "kind"), [
    ("mem_cgroup_oom_synchronize", 0, "memory"), ("folio_wait_bit_common", 990, ""),
    ("reclaim_throttle", 990, "memory"), ("reclaim_throttle", 300, ""),  # the host has no memory
])  # fmt: skip
def test_a_fault_without_memory_of_the_cgroup_is_none_of_a_file(
    tmp_path: Path, sleeps: str, used: int, kind: str
) -> None:
    group = tmp_path / "sys/fs/cgroup/memory/cache"
    group.mkdir(parents=True)
    (group / "memory.limit_in_bytes").write_text("1000\n")
    (group / "memory.usage_in_bytes").write_text(f"{used}\n")
    process(tmp_path, 7, "cache", "-1 0x7ffc00000000 0x7f0000000000", state="D", sleeps=sleeps)
    (tmp_path / "proc/7/cgroup").write_text("4:memory:/cache\n")
    assert rows(tmp_path, 7)[7].kind == kind


@pytest.mark.parametrize(("remote_port", "told"), [(53, ("10.0.0.9", 53)), (0, ("", 4000))])
def test_the_other_end_of_a_udp_socket_is_told(
    tmp_path: Path, remote_port: int, told: tuple[str, int]
) -> None:
    process(tmp_path, 7, "ship", call(45, 4), files=[(4, "socket:[9]", "02")])
    memory = memory_of(tmp_path, 7)
    one = sockets_udp.Row(9, "10.0.0.1", 4000, "10.0.0.9", remote_port, False, 0, 0, 0, 0)
    recall(memory, sockets_udp.Known).rows = (one,)
    (row,) = waits.update(Live(str(tmp_path)), memory)
    assert (row.remote, row.port) == told
