"""Closed, full and unread streams, and interrupts, for every command there is."""

import fcntl
import io
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest
from hang import HANG, until
from open_files import open_files
from thinned import thinned
from warm import CAPTURED, CLOSED, Warm

from nettop import commands
from nettop.files import streams

HOST = str(Path(__file__).parents[1] / "hosts/guest-transfer.host")
DEMO = str(Path(__file__).parents[2] / "rules/demo.host.gz")
SAMPLES = str(Path(__file__).parents[1] / "collect/two-thousand-rules.host.gz")
SLOW = str(Path(__file__).parents[1] / "collect/slow-reader.host")
LOOK = ["--seconds", "0.1", "--replay", HOST]
SACK = "sysctl.net.ipv4.tcp_sack"
RUNS = {  # every command, and whether it prints data in this form
    "advise": (["advise", *LOOK], True),
    "apply": (["apply", "rx-ring-overrun@eth0", "--dry-run", *LOOK], False),
    "compare": (["compare", HOST, HOST, "--seconds", "0.1"], True),
    "completion": (["completion", "bash"], True),
    "confirm": (["confirm"], True),
    "explain": (["explain", "rx-ring-overrun", *LOOK], True),
    "export": (["export", f"{SACK}=0", "--replay", HOST], True),
    "fleet": (["fleet", HOST], True),
    "get": (["get", "link.mtu@lo"], True),
    "incidents": (["incidents", "--box", str(Path(HOST).parent)], True),
    "journal": (["journal"], True),
    "limits": (["limits"], True),
    "man": (["man"], True),
    "metrics": (["metrics", "--replay", HOST], True),
    "mute": (["mute", "--list"], True),
    "journey": (["journey", "--replay", SLOW], True),
    "profile": (["profile", "--replay", SAMPLES], True),
    "prove": (["prove", "rx-ring-overrun@eth0", "--to", "127.0.0.1", "--tool", "no"], False),
    "rate": (["rate", "lo", "--seconds", "0.1", "--json"], True),
    "record": (["record", "-", "--seconds", "0.1", "--replay", HOST], True),
    "replay": (["replay", HOST], False),
    "results": (["results"], True),
    "rules": (["rules", "list"], True),
    "schema": (["schema"], True),
    "serve": (["serve", "--port", "0"], False),
    "set": (["set", "link.txqueuelen@lo", "1001", "--dry-run"], True),
    "show": (["show", "overview", "--once", "--replay", HOST], True),
    "snapshot": (["snapshot", "--json", *LOOK], True),
    "study": (["study", "list"], True),
    "sweep": (["sweep", "ring.rx@eth0", "--value", "1", "--to", "::1", "--tool", "no"], False),
    "test": (["test", "list"], True),
    "top": (["top", "--plain", "--replay", HOST], True),
    "tune": (["tune", "--to", "127.0.0.1", "--tool", "no"], False),
    "undo": (["undo", "--all"], True),
    "watch": (["watch", "--for", "2", "--json", "--fail-on", "never", "--replay", DEMO], True),
    "why": (["why", *LOOK], True),
    "--help": (["--help"], True),
    "--version": (["--version"], True),
}
HELPS = {f"{name} --help": ([name, "--help"], True) for name in commands.names()}
NULL, FULL = os.devnull, "/dev/full"
ALL_CLOSED = (CLOSED, CLOSED, CLOSED)
FAULTS = (b"Traceback", b"Exception ignored", b"internal error")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    own = ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    return {**os.environ, **dict.fromkeys(own, str(tmp_path)), "LC_ALL": "C.UTF-8"}


def run(
    warm: Warm, words: list[str], home: dict[str, str],
    streams: Sequence[str | int | None] = (NULL, CAPTURED, CAPTURED),
) -> tuple[int, bytes, bytes]:  # fmt: skip
    """Exit code and output with these streams."""
    place = home["XDG_STATE_HOME"]  # `record NAME` writes where it is started
    done = warm.run(words, home, place, streams)
    return done.returncode, done.stdout, done.stderr


def test_the_list_has_every_command() -> None:
    assert {name for name in RUNS if " " not in name and name[0] != "-"} == set(commands.names())


@pytest.mark.parametrize("name", [*RUNS, *thinned(HELPS, 12)])
def test_output_that_is_lost_is_told_and_the_exit_code_says_so(
    name: str, home: dict[str, str], warm: Warm
) -> None:
    words, prints = (RUNS | HELPS)[name]
    code, _, told = run(warm, words, home, (NULL, FULL, CAPTURED))
    assert not any(fault in told for fault in FAULTS), told.decode()
    assert (code == 3) is prints
    assert told.startswith(b"nettop")
    if prints:
        assert b"No space left" in told.splitlines()[-1]


@pytest.mark.parametrize("name", thinned(RUNS, 5))
def test_a_stream_that_is_closed_or_lost_narration_is_no_failure(
    name: str, home: dict[str, str], warm: Warm
) -> None:
    words, prints = RUNS[name]
    whole, _, _ = run(warm, words, home)
    assert run(warm, words, home, (NULL, FULL, FULL))[0] == (3 if prints else whole)
    for closed in ((NULL, CLOSED, CAPTURED), ALL_CLOSED):
        code, _, told = run(warm, words, home, closed)
        assert not any(fault in told for fault in FAULTS), told.decode()
        assert code == whole


@pytest.mark.parametrize("name", thinned(RUNS, 5))
def test_nobody_who_reads_is_quiet(name: str, home: dict[str, str], warm: Warm) -> None:
    words, prints = RUNS[name]
    reader, writer = os.pipe()
    os.close(reader)
    code, _, told = run(warm, words, home, (NULL, writer, CAPTURED))
    os.close(writer)
    assert not any(fault in told for fault in FAULTS), told.decode()
    assert (code == 141) is prints, told


@pytest.mark.parametrize(
    ("name", "redirection", "expected"),
    [
        ("advise", ">/dev/full", (3, b"nettop: stdout: No space left on device\n")),
        ("advise", ">&- 2>&- <&-", (0, b"")),
        ("show", ">/dev/full 2>/dev/full", (3, b"")),
        ("record", ">&- <&-", (0, b"")),
        ("man", "2>&1 >/dev/full", (3, b"")),
        ("--help", ">/dev/full", (3, b"nettop: stdout: No space left on device\n")),
        ("--version", "2>&- <&-", (0, b"")),
    ],
)
def test_the_streams_of_a_shell(
    name: str, redirection: str, expected: tuple[int, bytes], home: dict[str, str]
) -> None:
    """Python's own start with them, which the other tests leave out."""
    line = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-m", "nettop", *RUNS[name][0]]
    done = subprocess.run(line, env=home, capture_output=True, timeout=HANG, check=False)
    assert (done.returncode, done.stderr) == expected


def test_a_file_that_may_not_grow_is_told(home: dict[str, str], tmp_path: Path) -> None:
    words = ["sh", "-c", 'ulimit -f 0; exec "$@" >"$OUT"', "sh", sys.executable, "-m", "nettop"]
    done = subprocess.run(
        [*words, "man"], env={**home, "OUT": str(tmp_path / "out")}, capture_output=True,
        timeout=HANG, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, b"nettop: stdout: File too large\n")


def test_a_pipe_that_another_program_made_non_blocking_gets_everything(
    home: dict[str, str],
) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    line = [sys.executable, "-m", "nettop", "schema"]
    with subprocess.Popen(line, env=home, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        until(lambda: queued(reader) >= 65536)  # the pipe is full, the schema has more
        with open(reader, "rb") as pipe:
            text = pipe.read()
        _, told = process.communicate(timeout=HANG)
    assert (process.returncode, told) == (0, b"")
    assert text.endswith(b"}\n")
    assert len(text) > 65536


def queued(pipe: int) -> int:
    """The bytes that a pipe holds."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_closed_stream_s_number_is_not_given_to_a_file(
    home: dict[str, str], tmp_path: Path
) -> None:
    program = (
        "import os, sys; from nettop.files import streams; streams.adopt();"
        f"file = open({str(tmp_path / 'journal')!r}, 'w'); assert file.fileno() > 2, file;"
        "print('x'); print('y', file=sys.stderr); assert sys.stdin.read() == ''"
    )
    line = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", sys.executable, "-c", program]
    assert subprocess.run(line, env=home, timeout=HANG, check=False).returncode == 0
    assert (tmp_path / "journal").read_text() == ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_message_is_there_at_the_end_of_its_line(home: dict[str, str], unbuffered: str) -> None:
    program = (
        "import os, sys; from nettop.files import streams; streams.adopt();"
        "print('x', file=sys.stderr); os._exit(0)"
    )
    line, env = [sys.executable, "-c", program], {**home, "PYTHONUNBUFFERED": unbuffered}
    assert subprocess.run(line, env=env, capture_output=True, check=True).stderr == b"x\n"


WATCH = """
import sys, _signal
class Watch:
    def find_spec(self, name, path=None, target=None):
        if "nettop.__main__" in sys.modules:
            seen.append((name, _signal.getsignal(2) is _signal.default_int_handler))
seen = []
sys.meta_path.insert(0, Watch())
import nettop.__main__
nettop.__main__.main()
print([name for name, loud in seen[:100] if loud][:1], len(seen) > 10)
"""


def test_the_first_thing_that_nettop_does_is_to_silence_the_interrupt() -> None:
    line = [sys.executable, "-S", "-c", WATCH, "--version"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=HANG, check=False)
    assert done.stdout.splitlines()[-1] == "[] True", done.stdout + done.stderr


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler of a signal: before, the signal ends it (proc(5))."""
    caught = Path(f"/proc/{pid}/status").read_text().split("SigCgt:")[1].split()[0]
    return bool(int(caught, 16) >> number - 1 & 1)


def test_interrupted_while_it_looks_it_exits_130(home: dict[str, str]) -> None:
    line = [sys.executable, "-m", "nettop", "watch", "--json"]
    with subprocess.Popen(
        line, env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        # it reads the host: its streams are pipes, so a socket is one of netlink
        until(lambda: any(name.startswith("socket:") for name, _ in open_files(process.pid)))
        until(lambda: catches(process.pid, signal.SIGINT))
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=HANG)
    assert (process.returncode, told) == (130, b"")


EVIL = "e\x1b]0;PWNED\x07\x1b[31m\x9b2J\u202e"


@pytest.mark.parametrize("name", thinned(RUNS, 5))
def test_no_control_character_of_a_name_is_printed(
    name: str, home: dict[str, str], warm: Warm
) -> None:
    """The name is a word of the command line."""
    words = RUNS[name][0]
    code, out, err = run(warm, [words[0], EVIL, *words[2:]], home)
    assert code in (0, 1, 2, 3, 4), err.decode()
    told = (out + err).decode()
    assert all(char == "\n" or char.isprintable() for char in told), told


def test_a_device_s_name_is_shown_and_not_obeyed(
    home: dict[str, str], tmp_path: Path, warm: Warm
) -> None:
    host = tmp_path / "evil.host"
    text = Path(HOST).read_text(encoding="utf-8", errors="surrogateescape")
    bad = "e\x1b[31m\x07"
    host.write_text(text.replace("eth0", bad), encoding="utf-8", errors="surrogateescape")
    where = ["--replay", str(host)]
    for words in (
        ["rate", bad, "--seconds", "0.5", *where],
        ["advise", "--all", *where],
        ["snapshot", *where],
        ["snapshot", "--json", *where],
        ["show", "nic", "--once", *where],
        ["explain", "rx-ring-overrun", *where],
        ["compare", str(host), HOST],
        ["export", f"link.mtu@{bad}=1500", *where],
        ["watch", "--for", "2", *where],
    ):
        code, out, err = run(warm, words, home)
        assert code in (0, 1, 2, 3, 4), (words, err.decode())
        assert b"\x1b" not in out + err, words
        assert b"\x07" not in out + err, words


def test_what_is_printed_is_shown_and_not_obeyed() -> None:
    assert streams.visible("a\tb\n✗ \x1b[31mc\r\x07\x9b\udcff") == "a\tb\n✗ ␛[31mc␍␇��"
    out = io.BytesIO()
    stream = streams._Told(io.BufferedWriter(out), "utf-8")
    print("\r\x1b[K1 s left \x1b[K", end="", file=stream, flush=True)
    streams.control("\x1b[1mb\x1b[0m", stream)
    assert out.getvalue() == "\r\x1b[K1 s left ␛[K\x1b[1mb\x1b[0m".encode()
