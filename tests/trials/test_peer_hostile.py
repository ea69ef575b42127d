"""A far end that lies, floods, keeps silent or hangs: one sentence, exit code 3, nothing left."""

import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hang import until
from warm import Warm

from nettop.trials import end

# A far end that takes the job, behaves as a sampler, and does ODD in every other program.
FAKE: Final = """
import json, os, sys, time
job = json.loads(sys.stdin.readline())
name = job["texts"][-1][0].rsplit(".", 1)[1]
def say(text):
    sys.stdout.write(text + "\\n"); sys.stdout.flush()
SAMPLE = json.dumps({"at": 1.0, "cores": {}, "interfaces": {}, "softnet": [], "totals": {},
                     "interrupts": []})
def sample():
    say(json.dumps({"links": {}, "kernel": "", "host": "", "pid": 1}))
    while True:
        say(SAMPLE)
        time.sleep(1)
"""
ODD: Final = {
    "infinite": ("say('{\"port\": 1e999}')", "out of range"),
    "constant": ("say('{\"port\": NaN}')", "NaN is not a number"),
    "huge": ("say('{\"port\": ' + '9' * 5000 + '}')", "out of range"),
    "negative": ("say('{\"port\": -1}')", "not a message"),
    "text": ('say(\'{"port": "x"}\')', "not a message"),
    "unknown": ("say('{\"porthole\": 1}')", "not a message"),
    "deep": ("say('{\"port\": ' + '[' * 100000 + ']' * 100000 + '}')", "nested too deep"),
    "unfinished": ("say('{\"port\": 1')", "invalid message"),
    "closes": ("sys.exit(0)", "ended before it answered"),
}
# prefixes that never run what they are given
PREFIXES: Final = {
    "zeros": ("sh -c 'cat /dev/zero'", "a line of more than 8 MiB"),
    "lines": ("sh -c yes", "more than 50,000 lines"),
    "complaints": ("sh -c 'yes >&2'", "more than 50,000 lines"),
    "ends": ("true", "ended at once"),
    "fails": ("false", "exit code 1"),
    "deaf": ("sh -c 'exec >&-; sleep 600'", "closed its output and did not end"),
}
SILENT: Final = {
    "sleeps": "sh -c 'exec sleep 600'",
    "ignores": "sh -c 'trap \"\" TERM INT HUP; sleep 600; sleep 600'",
    "shut": "sh -c 'exec >&- 2>&-; sleep 600'",
}


def command(prefix: str, folder: Path) -> list[str]:
    return ["test", "bulk", "--to", "127.0.0.1", "--no-keep", "--seconds", "30",
            "--peer", f"env FAR_OF_THE_TEST={folder} {prefix}"]  # fmt: skip


def left(folder: Path) -> list[str]:
    """The processes that run under the prefix of this test."""
    mark = f"FAR_OF_THE_TEST={folder}".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark in Path(f"/proc/{name}/environ").read_bytes():
                found.append(Path(f"/proc/{name}/cmdline").read_text())
        except OSError:
            continue
    return found


def fake(folder: Path, odd: str) -> str:
    """The prefix that does `odd` where the program is not the sampler."""
    text = f'{FAKE}\nif name == "sample":\n    sample()\n{odd}\ntime.sleep(600)\n'
    path = folder / "fake.py"
    path.write_text(text)
    return shlex.join([sys.executable, str(path)])


def refused(warm: Warm, prefix: str, folder: Path) -> str:
    """What is said of such a far end."""
    done = warm.run(command(prefix, folder))
    said = done.stderr.decode()
    assert (done.returncode, done.stdout) == (3, b""), said
    assert len(said.splitlines()) == 1
    assert said.startswith("nettop: ")
    assert "internal error" not in said
    until(lambda: not left(folder))
    return said


@pytest.mark.parametrize("name", PREFIXES)
def test_a_prefix_that_does_not_run_the_helper_is_one_sentence(
    name: str, tmp_path: Path, warm: Warm
) -> None:
    prefix, why = PREFIXES[name]
    assert why in refused(warm, prefix, tmp_path)


@pytest.mark.parametrize("name", ODD)
def test_what_cannot_be_is_one_sentence(name: str, tmp_path: Path, warm: Warm) -> None:
    odd, why = ODD[name]
    assert why in refused(warm, fake(tmp_path, odd), tmp_path)


def test_messages_without_end_are_no_answer(tmp_path: Path, warm: Warm) -> None:
    line = '{"total": 1, "poured": 1, "lasted": 1}\\n'
    odd = f"while True: sys.stdout.write('{line}' * 100)"
    assert "sends messages but does not answer" in refused(warm, fake(tmp_path, odd), tmp_path)


def test_messages_without_end_are_a_flood() -> None:
    line = '{"total": 1, "poured": 1, "lasted": 1}'
    with end.Peer(("sh", "-c", f"yes '{line}'")).start("bulk", {}) as one:
        with pytest.raises(end.PeerError, match="more than"):
            list(one.messages(600))
        with pytest.raises(end.PeerError, match="more than"):
            one.receive(20)


def cancelled(
    warm: Warm, prefix: str, folder: Path, number: int, ready: Callable[[], bool]
) -> None:
    """End `nettop test` by a signal once the far end is as far as `ready` tells."""
    with open(os.devnull, "r+b") as null, (folder / "said").open("w+") as said:
        streams = {0: null.fileno(), 1: null.fileno(), 2: said.fileno()}
        running = warm.start(command(prefix, folder), streams)
        until(ready, "the far end did not start")
        os.kill(running.pid, number)
        assert running.wait() == 4
        said.seek(0)
        assert said.read() == "nettop: cancelled; all processes of the test have ended\n"
    until(lambda: not left(folder))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", SILENT)
def test_a_signal_ends_the_wait_for_a_silent_far_end(
    name: str, number: int, tmp_path: Path, warm: Warm
) -> None:
    waits = lambda: any("600" in one for one in left(tmp_path))  # noqa: E731
    cancelled(warm, SILENT[name], tmp_path, number, waits)


@pytest.mark.parametrize(
    "odd",
    [
        "",
        'while True: say(\'{"total": 1, "poured": 1, "lasted": 1}\'); time.sleep(0.001)',
        "while True: sys.stderr.write('.'); sys.stderr.flush(); time.sleep(0.001)",
    ],
    ids=["silent", "chattering", "complaining"],
)
def test_a_signal_ends_a_test_whose_far_end_does_not_begin(
    odd: str, tmp_path: Path, warm: Warm
) -> None:
    ready = tmp_path / "ready"
    prefix = fake(tmp_path, f"open({str(ready)!r}, 'w').close()\n{odd}")
    cancelled(warm, prefix, tmp_path, signal.SIGTERM, ready.exists)


def test_the_other_streams_end_does_not_hide_what_was_said() -> None:
    with pytest.raises(end.PeerError, match="ended: no such host"):
        end.Peer(("sh", "-c", "exec >&-; sleep 0.3; echo no such host >&2; exit 255")).run(["x"])


def test_a_line_as_long_as_allowed_is_heard_whole() -> None:
    size = end.LINE - 100
    script = f"yes | tr -d '\\n' | head -c {size}"
    with end.HERE.start("program", {"argv": ["sh", "-c", script]}) as one:
        assert len(one.wait_for("out")["out"]) == size
