"""The process of a far reader: what it refuses, how it ends, and what is said when it fails."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from hang import HANG, until
from hypothesis import given
from hypothesis import strategies as st

from nettop.files import bounds
from nettop.host.connection import Connection
from nettop.host.distant import Distant
from nettop.host.far import wire
from nettop.host.far.mirror import ENTRY, GONE, WHOLE, Mirror
from nettop.host.netlink import diag
from nettop.host.netlink.codec import Space
from nettop.host.patterns import ALL, FILE, FOLDER, LINK, order
from nettop.host.source import HostLostError

HERE = ("env",)
RUN = 'exec "$0" "$@"'
# What a broken far end does after it has sent the token of the job it was given
JUNK = (
    "import sys,json,struct;token=json.loads(sys.stdin.readline())['options']['token'];"
    "out=sys.stdout.buffer;out.write(('\\nnettop %s %s 0\\n'%(token,sys.byteorder)).encode());"
    "out.write({});out.flush();sys.stdin.read()"
)


def shell(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


def junk(data: str) -> tuple[str, ...]:
    return (sys.executable, "-c", JUNK.format(data))


@pytest.fixture
def far() -> Iterator[Distant]:
    source = Distant(lambda asks, first: Connection(HERE, asks, first=first))
    yield source
    source.close()


def answers(batch: list[tuple[bytes, bytes]]) -> list[bytes]:
    """The raw answers of a reader to requests that no source would send."""
    one = Connection(HERE, wire.pack_asks(batch))
    try:
        data = one.answer()
    finally:
        one.close()
    at = wire.unpack_head(data)[4]
    return [body for _, _, _, body in wire.unpack_changes(data, at)]


def test_a_reader_refuses_every_write_and_all_that_is_not_on_its_list() -> None:
    writes = [
        (b"n", b"route\x0016\0\0" + bytes(16)),  # RTM_NEWLINK
        (b"n", b"route\x0019\0\0" + bytes(16)),  # RTM_SETLINK
        (b"n", b"sock_diag\x0021\0d\0" + bytes(56)),  # SOCK_DESTROY
        (b"n", b"ethtool\x0016\0\0" + bytes(8)),  # RINGS_SET
        (b"n", b"devlink\x001\0d\0"),
        (b"i", b"lo\x0040\0\x11"),  # ETHTOOL_SRINGPARAM
        (b"i", b"lo\x0040\0\x1a"),  # ETHTOOL_TEST
        (b"t", b"/etc/shadow"),
        (b"l", b"/root"),
        (b"k", b"/proc/1/exe"),
        (b"t", b"/proc/#/environ"),
        (b"w", b"/proc/sys/net/core/somaxconn"),
    ]
    found = answers(writes)
    assert len(found) >= len(writes)  # of a pattern each match is refused
    assert all(body.startswith(b"!1 ") for body in found), found


def test_damaged_requests_are_answered_with_an_error() -> None:
    for request in [
        (b"n", b""), (b"n", b"route"), (b"n", b"route\0x\0d\0"), (b"i", b""), (b"i", b"lo"),
        (b"i", b"lo\x00-1\0\x03"), (b"i", b"lo\x0099999999999\0\x03"), (b"n", b"\xff\x0018\0d\0"),
    ]:  # fmt: skip
        (body,) = answers([request])
        assert body.startswith(b"!"), request


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("no-such-program",), "cannot run no-such-program: No such file"),
        (shell("exit 127"), "has no python3: nettop needs Python 3.6 or later there"),
        (shell("echo 'sh: 1: python3: not found' >&2; exit 126"), "has no python3"),
        (shell("echo 'nettop-python 3.5' >&2; exit 1"), "has Python 3.5: nettop needs 3.6"),
        (shell("echo 'Permission denied (publickey).' >&2; exit 255"), "Permission denied"),
        (shell("exit 9"), "started no reader: exit code 9"),
        (
            shell("echo 'SyntaxError: invalid syntax' >&2; exit 1"),  # a login shell of its own
            "started no reader: SyntaxError: invalid syntax",
        ),
        (shell("kill -SEGV $$"), "started no reader: killed by signal 11"),
        (
            shell("echo 'python3: error while loading shared libraries: libz.so.1' >&2; exit 127"),
            "python3: error while loading shared libraries",
        ),
        (shell('exec "$0" "$@" </dev/null'), "does not pass on standard input: docker and kubectl"),
        (shell("yes"), "more than 64 KiB came before nettop's reader began"),
        (shell("yes >&2 & cat >/dev/null"), "did not start a reader within 1 s"),
        (shell("cat >/dev/null"), "did not start a reader within 1 s"),
        (shell("cat"), "did not start a reader within 1 s"),
    ],
)
def test_a_far_end_that_cannot_be_started_is_one_sentence(
    words: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(HostLostError, match=sentence) as caught:
        Connection(words, b"", patience=1.0)
    assert caught.value.code == 3
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        "b'x'*9",
        "struct.pack('<I',1<<31)+b'x'",
        "struct.pack('<I',5)+b'12345'",
        "struct.pack('<I',0)",
        "b'\\x00'*(1<<20)",
    ],
)
def test_an_invalid_answer_ends_the_connection_with_one_sentence(
    data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection.answer, "__defaults__", (1.0,))
    with pytest.raises(HostLostError, match=r"invalid answer|did not answer"):
        Distant(lambda asks, first: Connection(junk(data), asks, first=first))


def test_an_answer_that_expands_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block of zeros that is whole by itself (Z_FULL_FLUSH), 300 times."""
    monkeypatch.setattr(Connection.answer, "__defaults__", (HANG,))
    bomb = (
        "(lambda d:struct.pack('<I',len(d))+d)((lambda c:300*(c.compress(bytes(1<<20))+c.flush(3)))"
        "(__import__('zlib').compressobj(9,8,-15)))"
    )
    with pytest.raises(HostLostError, match=r"more than 268,435,456 bytes|invalid"):
        Distant(lambda asks, first: Connection(junk(bomb), asks, first=first))


def test_what_a_login_shell_prints_first_is_skipped() -> None:
    words = shell(f"echo Welcome to web1; printf 'no line end'; {RUN}")
    source = Distant(lambda asks, first: Connection(words, asks, first=first))
    try:
        assert source.text("/proc/sys/kernel/osrelease") == os.uname().release + "\n"
    finally:
        source.close()


def test_a_reader_ends_with_its_pipe_also_if_nettop_is_killed(far: Distant) -> None:
    pid = reader_of(far)
    far.close()
    until(lambda: gone(pid))
    code = (
        "from nettop.host.connection import Connection\nimport sys\n"
        "one = Connection(('env',), b'')\nprint(one._process.pid, flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until(lambda: gone(pid))


def reader_of(far: Distant) -> int:
    assert far._connection is not None
    return far._connection._process.pid


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_reader_that_dies_is_said_and_started_again(far: Distant) -> None:
    far.fetch([(FILE, b"/proc/stat")])
    before = reader_of(far)
    os.kill(before, signal.SIGKILL)
    with pytest.raises(HostLostError, match=r"the connection to env broke: killed by signal 9"):
        far.fetch([(FILE, b"/proc/stat")])
    far.fetch([(FILE, b"/proc/stat")])
    assert far.text("/proc/stat").startswith("cpu ")
    assert reader_of(far) != before


def test_a_host_that_stays_lost_is_not_asked_at_each_sample(far: Distant) -> None:
    attempts = []

    def connect(asks: bytes, first: bool) -> Connection:
        attempts.append(first)
        raise HostLostError("no route to host")

    far._connect = connect
    far.close()
    for _ in range(20):
        with pytest.raises(HostLostError, match="no route to host"):
            far.fetch([])
    assert attempts == [False, False]  # at once, then after some seconds


def test_files_are_read_as_by_this_host(far: Distant) -> None:
    from nettop.host.source import Live

    near = Live()
    for path in ("/proc/sys/kernel/hostname", "/proc/cmdline", "/sys/class/net/lo/mtu"):
        assert far.text(path) == near.text(path)
    assert far.listing("/sys/class/net") == near.listing("/sys/class/net")
    assert far.link("/sys/class/net/lo/subsystem") == near.link("/sys/class/net/lo/subsystem")
    for work in (near.text, far.text):
        errors = [error_of(work, path) for path in ("/proc/no-such", "/sys/class/net/none/mtu")]
        assert errors[0][0] == (2 if work == near.text else 1)
        assert errors[1] == (2, "No such file or directory", "/sys/class/net/none/mtu")
    with pytest.raises(PermissionError, match="no program is loaded"):
        far.counted("drops")
    with pytest.raises(PermissionError, match="other network namespaces are not entered"):
        diag.tcp(far, Space("/proc/1/ns/net", 4026531840))


def error_of(work: Callable[[str], str], path: str) -> tuple[int | None, str | None, str | None]:
    with pytest.raises(OSError, match=r".") as caught:
        work(path)
    return caught.value.errno, caught.value.strerror, caught.value.filename


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"a\nb\n", b"a\nc\n", b"a\nlong\n"])))
def test_both_ends_have_the_same_answers(texts: list[bytes]) -> None:
    here, there = Mirror(), Mirror()
    ask = (b"t", b"/proc/stat")
    for text in texts:
        change = there.change(ask, b"+" + text)
        if change is not None:
            here.apply(ask, *change)
        assert here.answers[ask] == b"+" + text
        assert here.size == there.size == ENTRY + len(ask[1]) + len(text) + 1


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    for read in (wire.unpack_asks, lambda raw: list(wire.unpack_changes(raw, 0)), wire.unpack_head):
        try:
            read(data)
        except wire.UnreadableError:
            continue


def test_the_bounds_are_those_of_this_host() -> None:
    assert bounds.BOUNDS["far"].most >= bounds.BOUNDS["netlink"].most


def test_a_list_is_asked_before_the_patterns_that_need_it() -> None:
    ordered = [
        ALL, (FOLDER, b"/proc"), (FILE, b"/proc/stat"), (FOLDER, b"/proc/#/fd"),
        (LINK, b"/proc/#/fd/#"), (FOLDER, b"/proc/!/task"), (FILE, b"/proc/!/status"),
        (FILE, b"/proc/!/task/#/stat"),
    ]  # fmt: skip
    places = [order(one) for one in ordered]
    assert places == sorted(set(places))


def test_what_the_reader_forgot_is_forgotten_here(far: Distant) -> None:
    ask, before = (FILE, b"/proc/other"), far._mirror.size
    for change in ((0, WHOLE, b"", b"+cpu 0"), (wire.FORGOTTEN, GONE, ask[0] + ask[1], b"")):
        answer = wire.pack_answer(far._mirror.number, 0.0, 0.0, [], [change])
        far._take(answer, [ask], float("inf"))
        assert (ask in far._mirror.answers) == (change[1] == WHOLE)
    assert far._mirror.size == before
