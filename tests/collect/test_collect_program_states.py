"""The freezer, limits of cgroups and the debugger that hold a process up: files of v1 and v2."""

import pytest
from host_files import host

from nettop.collect import program_states, threads
from nettop.collect._table import Memory, recall

CG = "/sys/fs/cgroup"
V1 = "9:pids:/web/a\n7:freezer:/box/one\n4:memory:/\n0::/box\n"
V2 = "0::/web.slice/app.service\n"


def row(groups: str, files: dict[str, str]) -> program_states.Row:
    own = {"/proc/7/cgroup": groups, "/proc/7/comm": "app\n", f"{CG}/cgroup.procs": "1\n"}
    memory: Memory = {}
    recall(memory, threads.Moving).rounds = {7: 5}
    (found,) = program_states.update(host({**own, **files}), memory)
    return found


@pytest.mark.parametrize(("groups", "files", "thaw"), [
    (V1, {f"{CG}/freezer/box/one/freezer.self_freezing": "1\n"},
     f"{CG}/freezer/box/one/freezer.state"),
    (V1, {f"{CG}/freezer/box/one/freezer.self_freezing": "0\n",
          f"{CG}/freezer/box/freezer.self_freezing": "1\n"}, f"{CG}/freezer/box/freezer.state"),
    (V1, {f"{CG}/unified/box/cgroup.freeze": "1\n"}, f"{CG}/unified/box/cgroup.freeze"),
    (V2, {f"{CG}/web.slice/app.service/cgroup.freeze": "0\n",
          f"{CG}/web.slice/cgroup.freeze": "1\n"}, f"{CG}/web.slice/cgroup.freeze"),
    (V2, {f"{CG}/web.slice/cgroup.freeze": "0\n"}, ""),
])  # fmt: skip
def test_the_file_that_thaws_is_that_of_the_cgroup_that_was_frozen(
    groups: str, files: dict[str, str], thaw: str
) -> None:
    assert row(groups, files).thaw == thaw


def pids(folder: str, most: str, now: str, refused: int | None = None) -> dict[str, str]:
    events = {} if refused is None else {f"{folder}/pids.events": f"max {refused}\n"}
    return {f"{folder}/pids.max": most, f"{folder}/pids.current": now, **events}


@pytest.mark.parametrize(("groups", "files", "full", "tasks", "room", "refused", "unseen"), [
    (V1, pids(f"{CG}/pids/web/a", "4", "4"), f"{CG}/pids/web/a", 4, 0, None, ""),
    (V1, {**pids(f"{CG}/pids/web", "9", "7"), **pids(f"{CG}/pids/web/a", "max", "4", 3)},
     f"{CG}/pids/web", 9, 2, 3, ""),
    (V2, {**pids(f"{CG}/web.slice", "9", "12", 5),
          **pids(f"{CG}/web.slice/app.service", "6", "2", 4)}, f"{CG}/web.slice", 9, 0, 9, ""),
    ("0::/\n", pids(CG, "7", "7"), CG, 7, 0, None, "/.."),  # a container
    (V1, {}, "", None, None, None, ""),
])  # fmt: skip
def test_the_cgroup_with_the_least_room_for_processes_is_named(
    groups: str, files: dict[str, str], full: str, tasks: int | None, room: int | None,
    refused: int | None, unseen: str,
) -> None:  # fmt: skip
    found = row(groups, files)
    assert (found.full, found.tasks, found.room, found.refused, found.unseen) == (
        full, tasks, room, refused, unseen,
    )  # fmt: skip


def test_a_cgroup_that_is_not_visible_is_named_and_what_the_host_has() -> None:
    memory: Memory = {}
    recall(memory, threads.Moving).rounds = {7: 5}
    (found,) = program_states.update(host({
        "/proc/7/cgroup": V1, "/proc/loadavg": "0.1 0.2 0.3 2/345 999\n",
        "/proc/sys/kernel/pid_max": "32768\n", "/proc/sys/kernel/threads-max": "9000\n",
    }), memory)  # fmt: skip
    assert (found.full, found.unseen) == ("", "/web/a")
    assert (found.all_tasks, found.pid_max, found.threads_max) == (345, 32768, 9000)


def test_memory_high_counts_how_often_it_slowed() -> None:
    folder = f"{CG}/web.slice"
    files = {f"{folder}/memory.high": "1000000\n", f"{folder}/memory.events": "low 0\nhigh 42\n"}
    found = row(V2, {f"{folder}/app.service/memory.high": "max\n", **files})
    assert (found.high, found.slowed) == (folder, 42)


def test_limits_of_the_user_and_a_debugger() -> None:
    limits = "Limit    Soft Limit  Hard Limit  Units\nMax processes     50     60    processes\n"
    found = row("", {
        "/proc/7/limits": limits, "/proc/7/cgroup": "0::/\n",
        "/proc/7/status": "Name:\tapp\nState:\tT (stopped)\nTracerPid:\t40\n",
    })  # fmt: skip
    assert (found.name, found.tasks_of_user, found.tracer, found.thaw) == ("app", 50, 40, "")
    assert found.state == "T"
