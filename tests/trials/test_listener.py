"""A far end listens on the address of the test only, for the other end with its token."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Unpack

import pytest
from hang import HANG

from nettop.trials import end
from nettop.trials.far import listener, protocol
from nettop.trials.far.schema import HelperOptions

TOKEN = "00112233445566778899aabbccddeeff"
SECRET = bytes.fromhex(TOKEN)
ENDS: HelperOptions = {"at": "127.0.0.1", "of": "127.0.0.1", "token": TOKEN}


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests may run over ssh themselves; and `stop` is for one test only."""
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    yield
    protocol.stopping.clear()


class Listening:
    """`listener.accept` in a thread, on a port of loopback."""

    def __init__(self, count: int, ends: HelperOptions) -> None:
        self.listening = listener.open_socket(ends, socket.SOCK_STREAM)
        self.listening.listen()
        self.port = self.listening.getsockname()[1]
        self.found: list[tuple[socket.socket, bytes]] = []
        self.thread = threading.Thread(target=self._run, args=(count, ends), daemon=True)
        self.thread.start()

    def _run(self, count: int, ends: HelperOptions) -> None:
        self.found = listener.accept(self.listening, ends, count)

    def connect(self, source: str, said: bytes) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port), 20, (source, 0))
        sock.sendall(said)
        return sock

    def close(self) -> None:
        protocol.stopping.set()
        self.thread.join(HANG)
        for sock, _ in self.found:
            sock.close()
        self.listening.close()


@pytest.fixture
def listening() -> Iterator[Listening]:
    one = Listening(2, ENDS)
    yield one
    one.close()


def closed(sock: socket.socket) -> bool:
    """Whether the other side has closed it, without a word."""
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def test_only_the_other_end_with_its_token_comes_in(listening: Listening) -> None:
    with ExitStack() as stack:

        def come(source: str, said: bytes) -> socket.socket:
            return stack.enter_context(listening.connect(source, said))

        silent = come("127.0.0.1", b"")
        slow = come("127.0.0.1", SECRET[:5])
        strangers = [
            come("127.0.0.2", SECRET + b">"),  # another address, though it knows the token
            come("127.0.0.1", b"\0" * 17),  # the address, and another token
            come("127.0.0.1", b"GET / HTTP/1.1\r\n\r\n"),
        ]
        assert all(map(closed, strangers))
        come("127.0.0.1", SECRET + b"<")
        slow.sendall(SECRET[5:] + b">")
        listening.thread.join(HANG)
        assert not listening.thread.is_alive()
        assert sorted(way for _, way in listening.found) == [b"<", b">"]
        assert closed(silent)


def test_many_silent_strangers_do_not_keep_the_other_end_out(listening: Listening) -> None:
    with ExitStack() as stack:
        for _ in range(3 * listener.STRANGERS):
            stack.enter_context(listening.connect("127.0.0.2", b""))
        for way in (b"<", b">"):
            stack.enter_context(listening.connect("127.0.0.1", SECRET + way))
        listening.thread.join(HANG)
        assert len(listening.found) == 2


def test_it_listens_on_the_address_of_the_test_only() -> None:
    with listener.open_socket(ENDS, socket.SOCK_STREAM) as sock:
        sock.listen()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", sock.getsockname()[1]), 20)


def test_an_address_of_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match=r"192\.0\.2\.1 is not an address of this end"):
        listener.address_of({"at": "192.0.2.1"})
    # behind NAT ssh knows the address that it reached, and the one it was reached from
    monkeypatch.setenv("SSH_CONNECTION", "127.0.0.3 40000 127.0.0.1 22")
    assert listener.address_of({"at": "192.0.2.1"}) == "127.0.0.1"
    assert listener.peers({"of": "10.0.0.1"}) == {"10.0.0.1", "127.0.0.3"}


def test_an_ssh_session_of_nettops_own_is_not_the_far_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "127.0.0.3 40000 127.0.0.1 22")
    assert "SSH_CONNECTION" not in end.HERE.run(["env"])[1]


def datagrams(address: str = "127.0.0.1") -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, 0))
    sock.settimeout(HANG)
    return sock


def test_datagrams_count_only_from_the_other_end_that_knows_the_token() -> None:
    with (
        listener.open_socket(ENDS, socket.SOCK_DGRAM) as sock,
        datagrams("127.0.0.2") as foreign,
        datagrams() as wrong,
        datagrams() as near,
    ):
        place = sock.getsockname()
        foreign.sendto(SECRET, place)
        wrong.sendto(b"\0" * 16, place)
        admitted: list[bool] = []
        waiting = threading.Thread(target=lambda: admitted.append(listener.admit(sock, ENDS)))
        waiting.start()
        near.connect(place)
        assert listener.knock(near, SECRET)
        waiting.join(HANG)
        assert admitted == [True]
        assert sock.getpeername() == near.getsockname()
        foreign.sendto(b"foreign", place)
        near.send(b"near")
        assert sock.recv(100) == b"near"
        with pytest.raises(TimeoutError):
            sock.recv(100)


def test_the_tools_tell_both_ends_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from nettop.trials.result import Options
    from nettop.trials.run import TrialError
    from nettop.trials.tools import _client_server

    trial: Any = type("Trial", (), {"options": Options(to="localhost")})()
    one, two = _client_server.ends(trial), _client_server.ends(trial)
    assert (one["at"], one["of"]) == ("127.0.0.1", "127.0.0.1")
    assert len(bytes.fromhex(one["token"])) == 16
    assert one["token"] != two["token"]
    with pytest.raises(TrialError, match=r"no-such-host\.invalid"):
        _client_server.numeric("no-such-host.invalid")


def run(script: str, **options: Unpack[HelperOptions]) -> end.End:
    common: HelperOptions = {"seconds": 1.0, "streams": 1, "pours": 1, **ENDS}
    return end.HERE.start(script, {**common, **options})


def test_the_built_in_tools_refuse_a_wrong_token() -> None:
    with run("bulk") as far:
        port = far.wait_for("port")["port"]
        with socket.create_connection(("127.0.0.1", port), 20) as foreign:
            foreign.sendall(b"x" * 17)
            assert closed(foreign)
        with run("bulk", to="127.0.0.1", port=port) as near:
            assert near.wait_for("poured")["poured"] > 0
            assert far.wait_for("total")["total"] > 0


@pytest.mark.parametrize("script", ["bulk", "udp_sink", "udp_latency"])
def test_a_port_of_somebody_else_is_one_sentence(script: str) -> None:
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        with run(script, port=port) as far, pytest.raises(end.PeerError, match="already in use"):
            far.wait_for("port")


def test_what_a_program_listens_on_is_told_in_its_words() -> None:
    argv = ["echo", "{address}:{port}"]
    with end.HERE.start("program", {"argv": argv, "at": "127.0.0.1", "port": 47123}) as far:
        said = {key: text for message in far.messages(20) for key, text in message.items()}
    assert said["out"] == f"127.0.0.1:{said['port']}"
