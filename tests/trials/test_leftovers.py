"""What a trial leaves behind is ended, what was there before is not."""

import os
import signal
import subprocess

import psutil
from hang import HANG, until

from nettop.trials.run import descendants, none_left


def running_in_session(leader: int) -> list[int]:
    """The processes of a session that are no zombies."""
    return [
        one.pid
        for one in psutil.process_iter(["status"])
        if one.info["status"] != psutil.STATUS_ZOMBIE and _session(one.pid) == leader
    ]


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def test_only_what_came_in_between_is_ended() -> None:
    stays = subprocess.Popen(["sleep", "600"])
    try:
        with none_left():
            deaf = subprocess.Popen(
                ["sh", "-c", "trap '' TERM; sleep 600 & echo ready; wait; sleep 600"],
                stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert deaf.stdout is not None
            deaf.stdout.readline()
        assert deaf.wait(timeout=HANG) != 0
        until(lambda: not running_in_session(deaf.pid))
        deaf.stdout.close()
        assert stays.poll() is None
    finally:
        stays.kill()
        stays.wait()


def test_children_of_children_are_found_whatever_they_are_called() -> None:
    """A process may be called what the rest of its line in /proc looks like."""
    script = "echo -n ') R 1' >/proc/$$/comm; sleep 600 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as outer:
        assert outer.stdout is not None
        inner = int(outer.stdout.readline())
        try:
            assert {outer.pid, inner} <= {one.pid for one in descendants()}
        finally:
            os.kill(inner, signal.SIGKILL)
    assert not {outer.pid, inner} & {one.pid for one in descendants()}
