"""What failed calls are counted with, on this kernel: destinations, arguments, and who refuses."""

import ctypes
import fcntl
import mmap
import os
import resource
import select
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from nettop.collect import failed_calls
from nettop.host.bpf import asynchronous, attached, calls

pytestmark = pytest.mark.netns
NEAR = "127.0.0.1"
_NO_CONNECT = struct.pack(
    "=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, 42, 6, 0, 0, 0x5000D, 6, 0, 0, 0x7FFF0000
)  # load the number, compare with that of connect() on x86-64, EACCES, allow


@pytest.fixture
def counter() -> Iterator[calls.Counter]:
    try:
        counting = calls.Counter()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")
    yield counting
    counting.close()


def rows(counter: calls.Counter, pid: int = 0) -> list[failed_calls.Row]:
    """Those of this process, or of another one."""
    own = pid or os.getpid()
    return [row for row in failed_calls.parse(counter.text()) if row.pid == own]


def tried(*what: Callable[[], object]) -> None:
    for one in what:
        with suppress(OSError):
            one()


def test_the_argument_that_decides_is_told(counter: calls.Counter) -> None:
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tried(
            lambda: tcp.setsockopt(6, 13, b"no-such-one"), lambda: socket.socket(2, 1, 253),
            lambda: udp.sendmsg([b"x"], [(0, 2, struct.pack("i", 300))], 0, (NEAR, 5359)),
            lambda: udp.sendto(b"x" * 70_000, (NEAR, 9)),
            lambda: udp.sendmsg([b"x" * 80_000, b"y"], [], 0, (NEAR, 9)),
        )  # fmt: skip
        udp.connect((NEAR, 9))
        tried(
            lambda: os.write(udp.fileno(), b"x" * 90_000),
            lambda: os.writev(udp.fileno(), [b"x" * 100_000, b"y"]),
        )
    with (
        socket.socket() as door, socket.socket() as late,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):  # fmt: skip
        door.bind((NEAR, 0))
        tried(lambda: late.bind(door.getsockname()))
        udp.bind((NEAR, 0))
        name = udp.getsockname()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            tried(lambda: other.bind(name))
    with socket.socket() as door, socket.socket() as late:
        for one in (door, late):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(door.getsockname() if one is late else (NEAR, 0))
        number = door.getsockname()[1]
        door.listen()
        tried(late.listen)
    every = rows(counter)
    found = {(row.call, row.error): row for row in every}
    assert found["setsockopt", "ENOENT"].argument == "TCP_CONGESTION=no-such-one"
    assert found["socket", "EPROTONOSUPPORT"].argument == "AF_INET,SOCK_STREAM,253"
    message = found["sendmsg", "EINVAL"]
    assert (message.argument, message.address, message.port) == ("IP_TTL", NEAR, "5359")
    assert found["sendto", "EMSGSIZE"].argument == "bytes=69888"
    assert found["sendmsg", "EMSGSIZE"].argument == "bytes=80000"
    assert found["write", "EMSGSIZE"].argument == "bytes=89984"
    assert found["writev", "EMSGSIZE"].argument == "bytes=99968"
    assert {(found["write", "EMSGSIZE"].address, found["write", "EMSGSIZE"].port)} == {(NEAR, "9")}
    held = [row for row in every if (row.call, row.error) == ("bind", "EADDRINUSE")]
    assert sorted(row.argument for row in held) == ["tcp", "udp"]
    taken = found["listen", "EADDRINUSE"]
    assert (taken.argument, taken.address, taken.port) == ("tcp", NEAR, str(number))


def test_what_sets_up_an_interface_is_told_and_no_other_command_or_file(
    counter: calls.Counter,
) -> None:
    try:
        tun = os.open("/dev/net/tun", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"/dev/net/tun: {error.strerror}")
    with os.fdopen(tun, "rb"), socket.socket() as one:
        tried(
            lambda: fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"lo", 1)),  # no TUN
            lambda: fcntl.ioctl(one, 0x8914, struct.pack("16sH22x", b"no-such-one", 1)),
            lambda: fcntl.ioctl(one, 0x5401, bytes(64)),  # TCGETS
            lambda: os.close(os.open("/dev/net/tun/", os.O_RDONLY)),
            lambda: os.close(os.open("/dev/no-such-one", os.O_RDONLY)),
        )  # fmt: skip
    found = {(row.call, row.error, row.argument) for row in rows(counter)
             if row.call in ("ioctl", "openat")}  # fmt: skip
    assert found == {
        ("ioctl", "EINVAL", "TUNSETIFF=lo"), ("ioctl", "ENODEV", "SIOCSIFFLAGS=no-such-one"),
    }  # fmt: skip


def test_a_wait_for_too_many_descriptors_and_a_transfer_that_breaks_off_are_calls(
    counter: calls.Counter,
) -> None:
    waits, limits = select.poll(), resource.getrlimit(resource.RLIMIT_NOFILE)
    for number in range(100):
        waits.register(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    tried(*(2 * [lambda: waits.poll(0)]))
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with (
        socket.create_server((NEAR, 0)) as server, socket.socket() as one,
        Path(__file__).open("rb") as file,
    ):  # fmt: skip
        port = server.getsockname()[1]
        one.connect((NEAR, port))
        one.shutdown(socket.SHUT_WR)
        tried(lambda: os.sendfile(one.fileno(), file.fileno(), 0, 9))
    found = {(row.call, row.error): row for row in rows(counter)}
    assert (found["poll", "EINVAL"].argument, found["poll", "EINVAL"].events) == ("nfds=100", 2)
    broken = found["sendfile", "EPIPE"]
    assert (broken.address, broken.port) == (NEAR, str(port))


def in_use(times: int) -> None:
    """Connect a socket whose port and destination are those of another one."""
    with socket.create_server((NEAR, 0)) as server, socket.socket() as one, socket.socket() as same:
        for each in (one, same):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind((NEAR, 0) if each is one else one.getsockname())
        one.connect(server.getsockname())
        tried(*(times * [lambda: same.connect(server.getsockname())]))


def test_an_attempt_that_sent_nothing_is_its_call_alone(counter: calls.Counter) -> None:
    in_use(3)
    counter._counting.drop(*counter._slows)  # as on a host that makes too many calls
    in_use(2)
    found = {(row.call, row.error): row.events for row in rows(counter)}
    opened = sum(row.events for row in rows(counter) if row.error == "0")
    assert found["connect", "EADDRNOTAVAIL"] == 3
    assert {error for _, error in found} == {"0", "EADDRNOTAVAIL"}
    assert opened == 2


def test_a_connected_socket_has_its_other_end(counter: calls.Counter) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect((NEAR, 9))
        tried(*(2 * [lambda: udp.send(b"x")]))
        tried(*(3 * [lambda: os.write(udp.fileno(), b"x")]))
    found = {row.call: row for row in rows(counter) if row.error == "ECONNREFUSED"}
    assert {(one.address, one.port) for one in found.values()} == {(NEAR, "9")}
    assert "write" in found


def test_datagrams_that_come_back_are_counted_with_those_that_do_not(
    counter: calls.Counter,
) -> None:
    writer, reader = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with writer, reader:
        writer.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                writer.send(b"x")
        reader.recv(9)
        writer.send(b"x")
        found = {row.error: row for row in rows(counter) if row.call == "sendto"}
        assert (found["EAGAIN"].events, found["0"].events) == (1, 1)
        assert found["EAGAIN"].address == "unix"
        assert found["EAGAIN"].argument == f"peer={os.fstat(reader.fileno()).st_ino}"


def test_datagrams_of_a_process_that_fail_are_counted_with_those_that_do_not(
    counter: calls.Counter,
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as stream:
        tried(lambda: stream.send(b"x"))  # no datagram
        tried(*(3 * [lambda: udp.sendto(bytes(70_000), (NEAR, 9))]))
        told = [(row.error, row.events) for row in rows(counter) if row.port == "9"]
        assert told == [("0", 0), ("EMSGSIZE", 3)]
        for _ in range(2):
            udp.sendto(b"x", (NEAR, 9))
    told = [(row.error, row.events) for row in rows(counter) if row.port == "9"]
    assert told == [("0", 2), ("EMSGSIZE", 3)]
    assert not [row for row in rows(counter) if row.error == "0" and row.port != "9"]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of calls")
def test_a_filter_of_calls_is_told_where_it_may_have_refused(counter: calls.Counter) -> None:
    pid = os.fork()
    if not pid:
        code = ctypes.create_string_buffer(_NO_CONNECT)
        head = struct.pack("HxxxxxxQ", 4, ctypes.addressof(code))
        libc = ctypes.CDLL(None)
        libc.prctl(38, 1, 0, 0, 0)
        libc.prctl(22, 2, head, 0, 0)
        with socket.socket() as one:
            tried(lambda: one.connect((NEAR, 9)))
        os._exit(0)
    os.waitpid(pid, 0)
    (refused,) = (row for row in rows(counter, pid) if row.error == "EACCES")
    assert refused.by == "seccomp"


def test_the_program_of_an_attempt_is_found_by_its_socket() -> None:
    with socket.socket() as one:
        one.setblocking(False)
        with suppress(BlockingIOError):
            one.connect(("127.1.2.3", 9))  # ends at once
        inode = os.fstat(one.fileno()).st_ino
    assert asynchronous.owners({inode}) == {}
    with socket.socket() as one:
        inode = os.fstat(one.fileno()).st_ino
        pid, name = asynchronous.owners({inode})[inode]
        assert (pid, len(name)) == (os.getpid(), 16)  # as the kernel keeps it
    assert asynchronous.owners(set()) == {}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of calls")
def test_an_operation_of_io_uring_fails_as_its_call_does(counter: calls.Counter) -> None:
    libc, given = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(120)
    ring = libc.syscall(425, 8, given)
    if ring < 0:
        pytest.skip("io_uring is not permitted")
    to, kept = struct.unpack_from("=10I", given, 40), mmap.MAP_SHARED | mmap.MAP_POPULATE
    both = mmap.PROT_READ | mmap.PROT_WRITE
    queue = mmap.mmap(ring, 4096, kept, both, offset=0)
    entries = mmap.mmap(ring, 4096, kept, both, offset=0x10000000)

    def does(operation: int, descriptor: int, at: int = 0, more: int = 0, length: int = 0) -> None:
        told = operation, 0, 0, descriptor, more, at, length, 0, 7
        entries[:64] = struct.pack("=BBHiQQIIQ24x", *told)
        struct.pack_into("=I", queue, to[6], 0)
        struct.pack_into("=I", queue, to[1], struct.unpack_from("=I", queue, to[1])[0] + 1)
        libc.syscall(426, ring, 1, 1, 1, None, 0)

    place = struct.pack("=H", 2) + struct.pack("!H", 443) + socket.inet_aton("192.0.2.1")
    room = ctypes.create_string_buffer(place, 16)
    every = ctypes.create_string_buffer(place[:4] + socket.inet_aton("127.255.255.255"), 16)
    message = ctypes.create_string_buffer(struct.pack("=QI", ctypes.addressof(every), 16), 56)
    with (
        socket.socket(socket.AF_INET6) as one,  # an address of another family
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two,
        Path("/dev/full").open("wb") as file,
    ):
        does(16, one.fileno(), ctypes.addressof(room), 16)
        does(9, two.fileno(), ctypes.addressof(message), length=1)
        does(45, socket.AF_INET, more=socket.SOCK_DGRAM, length=9999)
        does(56, two.fileno(), ctypes.addressof(room), 16)
        does(57, two.fileno())
        does(23, file.fileno(), ctypes.addressof(room), length=8)
    os.close(ring)
    seen = {row.call: (row.error, row.address, row.port, row.argument) for row in rows(counter)}
    assert seen["connect"] == ("EINVAL", "192.0.2.1", "443", "")
    assert seen["sendmsg"] == ("EACCES", "127.255.255.255", "443", "")
    assert seen["socket"] == ("EINVAL", "", "", "AF_INET,SOCK_DGRAM,9999")
    assert "write" not in seen  # of a file
    if "bind" in seen:  # since Linux 6.11
        assert seen["bind"] == ("EADDRNOTAVAIL", "192.0.2.1", "443", "")
        assert seen["listen"][0] == "EOPNOTSUPP"


def test_programs_of_control_groups_need_no_mount() -> None:
    assert attached.of_group("connect", os.getpid()) is not None
    assert attached.of_group("connect", 2**22 + 1) == []


def test_a_datagram_that_icmp_answers_is_told_though_no_call_fails(counter: calls.Counter) -> None:
    for _ in range(3):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.connect((NEAR, 7))
            udp.send(b"x")
    found = [row for row in failed_calls.parse(counter.text()) if row.call == "datagram"]
    if found:  # Linux 5.15
        (row,) = (one for one in found if one.port == "7")
        assert (row.error, row.address, row.events) == ("ECONNREFUSED", NEAR, 3)
        assert row.pid in (os.getpid(), 0)  # 0: it did not run when the answer came


def test_a_write_that_a_file_system_refuses_names_the_file(
    tmp_path: Path, counter: calls.Counter
) -> None:
    mounts = ["mount", "-t", "tmpfs", "-o", "size=16k", "full", str(tmp_path)]
    if subprocess.run(mounts, check=False).returncode:
        pytest.skip("no file system can be mounted")
    try:
        with (tmp_path / "in").open("wb", buffering=0) as file:
            tried(lambda: os.posix_fallocate(file.fileno(), 0, 65_536))
            for offset in (0, 16_384):
                tried(lambda offset=offset: os.pwrite(file.fileno(), b"x" * 16_384, offset))  # type: ignore[misc]
            tried(lambda: os.read(file.fileno(), 1))  # not open for reading: another error
            found = {(row.call, row.error, row.argument) for row in rows(counter)}
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    name = f"file={tmp_path},{tmp_path / 'in'}"
    assert found == {(call, "ENOSPC", name) for call in ("fallocate", "pwrite64")}
