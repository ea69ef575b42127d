"""The process that starts the drop monitor, and stops it whatever becomes of nettop."""

import errno
import os
import subprocess
import sys
from unittest.mock import Mock

import pytest

from nettop.host import monitor_guard
from nettop.host.netlink.codec import encode

SETTINGS = encode(monitor_guard.SETUP, {"alert_mode": 0, "trunc_len": 0, "queue_len": 1000})
GUARD = """
import sys
from nettop.host import monitor_guard as guard
names = {2: "CONFIG", 3: "START", 4: "STOP"}
settings = {"alert_mode": 0, "trunc_len": 0, "queue_len": 1000}
guard.last_attribute = lambda: %(last)d
guard.ask = lambda *_: settings
class Kernel:
    def change(self, family, kind, body):
        if kind == %(refused)d:
            raise OSError(11, "again")
        told = guard.decode(body, 0, len(body), guard.SETUP)
        print(names[kind], *told.values(), file=sys.stderr, flush=True)
guard.Kernel = Kernel
guard.main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("last", "refused", "words", "said", "does"),
    [
        (23, 0, ["each"], b"!", ["CONFIG 1 96 1000", "START", "STOP", "CONFIG 0 0 1000"]),
        (22, 0, [], b"!", ["CONFIG 0 0 1000", "START", "STOP", "CONFIG 0 0 1000"]),
        (0, 0, [], b"!", ["START", "STOP"]),
        (23, 3, ["each"], b"\x0b", ["CONFIG 1 96 1000", "CONFIG 0 0 1000"]),
        (23, 2, ["each"], b"\x0b", []),
    ],
)
def test_the_guard_stops_what_it_started_when_its_input_ends_and_restores_the_settings(
    last: int, refused: int, words: list[str], said: bytes, does: list[str]
) -> None:
    code = GUARD % {"last": last, "refused": refused}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-I", "-c", code, *words], stdin=pipe, stdout=pipe, stderr=pipe
    ) as guard:
        assert guard.stdout is not None
        told = SETTINGS if said == b"!" and last else b""
        assert os.read(guard.stdout.fileno(), 256) == said + told
        guard.terminate()  # a guard goes on: what ends with it is the other process
        _, error = guard.communicate()
    assert error.decode().splitlines() == does
    assert guard.returncode == 0


def test_a_guard_that_fails_is_the_kernels_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for code, number in (("print('\\x0b', end='')", errno.EAGAIN), ("", errno.ECHILD)):
        made = subprocess.Popen
        words = [sys.executable, "-I", "-c", code]
        monkeypatch.setattr(
            "subprocess.Popen", lambda _, made=made, words=words, **more: made(words, **more)
        )
        with pytest.raises(OSError) as error:  # noqa: PT011 - its number is compared
            monitor_guard.started(each=True)
        assert error.value.errno == number
        monkeypatch.undo()


def test_of_a_guard_that_was_killed_the_monitor_is_stopped_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not of one that ended by itself: then another program's monitor may run."""
    kernel = Mock()
    monkeypatch.setattr(monitor_guard, "Kernel", lambda: kernel)
    for killed in (False, True):
        pipe = subprocess.PIPE
        guard = subprocess.Popen(["cat"], stdin=pipe, stdout=pipe)
        if killed:
            guard.kill()
        monitor_guard._end(guard, SETTINGS)
        told = [(monitor_guard.STOP, b""), (monitor_guard.CONFIG, SETTINGS)] if killed else []
        assert [call.args[1:] for call in kernel.change.call_args_list] == told
