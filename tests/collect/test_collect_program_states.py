"""The freezer, limits of cgroups and the debugger that hold a process up: files of v1 and v2."""

from __future__ import annotations

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


@pytest.mark.parametrize(("now", "full"), [("4\n", "/web/a"), ("3\n", "")])
def test_a_cgroup_with_as_many_processes_as_it_may_have_is_named(now: str, full: str) -> None:
    folder = f"{CG}/pids/web/a"
    files = {f"{folder}/pids.max": "4\n", f"{folder}/pids.current": now}
    found = row(V1, {**files, f"{CG}/pids/web/pids.max": "max\n"})
    assert (found.full, found.tasks) == ((folder, 4) if full else ("", None))


def test_memory_high_counts_how_often_it_slowed() -> None:
    folder = f"{CG}/web.slice"
    files = {f"{folder}/memory.high": "1000000\n", f"{folder}/memory.events": "low 0\nhigh 42\n"}
    found = row(V2, {f"{folder}/app.service/memory.high": "max\n", **files})
    assert (found.high, found.slowed) == (folder, 42)


def test_limits_of_the_user_and_a_debugger() -> None:
    limits = "Limit    Soft Limit  Hard Limit  Units\nMax processes     50     60    processes\n"
    found = row("", {
        "/proc/7/limits": limits, "/proc/7/status": "Name:\tapp\nTracerPid:\t40\n",
        "/proc/7/cgroup": "0::/\n",
    })  # fmt: skip
    assert (found.name, found.tasks_of_user, found.tracer, found.thaw) == ("app", 50, 40, "")
