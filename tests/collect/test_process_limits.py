"""Limits of processes in the cgroups of programs that listen, below /proc and /sys/fs/cgroup."""

from host_files import host

from nettop.collect import process_limits, socket_owners, threads
from nettop.collect._table import Memory
from nettop.collect.socket_owners import _ProcessSockets

FILES = {
    "/proc/7/cgroup": "5:pids:/box/ftp\n0::/\n",
    "/proc/8/cgroup": "0::/app.slice/web.service\n",
    "/proc/9/cgroup": "0::/\n",
    "/sys/fs/cgroup/pids/box/pids.max": "14\n",
    "/sys/fs/cgroup/pids/box/pids.current": "14\n",
    "/sys/fs/cgroup/pids/box/pids.events": "max 33\n",
    "/sys/fs/cgroup/pids/box/ftp/pids.max": "max\n",
    "/sys/fs/cgroup/app.slice/web.service/pids.max": "100\n",
    "/sys/fs/cgroup/app.slice/web.service/pids.current": "9\n",
}


def known(*pids: int) -> Memory:
    held = {str(pid): _ProcessSockets(f"p{pid}") for pid in pids}
    return {
        socket_owners.Known: socket_owners.Known(held=held),
        threads.Moving: threads.Moving(doors={70 + pid: [pid] for pid in pids}),
    }


def test_the_limits_of_the_cgroups_of_programs_that_listen_and_of_those_above() -> None:
    assert process_limits.update(host(FILES), known(7, 8, 9)) == [
        process_limits.Row("/app.slice/web.service", 100, 9, None, ("p8[8]",)),
        process_limits.Row("/box", 14, 14, 33, ("p7[7]",)),
    ]


def test_a_program_that_ended_or_that_does_not_listen_has_none() -> None:
    memory = known(7)
    memory[socket_owners.Known] = socket_owners.Known()
    assert process_limits.update(host(FILES), memory) == []
