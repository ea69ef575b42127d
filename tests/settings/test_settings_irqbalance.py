"""irqbalance's socket, played by a stand-in that answers as irqbalance.c does."""

import errno
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import fake_host
import pytest

from nettop import settings
from nettop.changes import owners, plan, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.settings import Host, irq


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    banned = {"list": "40"}
    with (  # the path of a socket has 107 bytes at most, that of a test more
        tempfile.TemporaryDirectory(prefix="nettop-", dir="/tmp") as short,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server,
    ):
        made = fake_host.make(Path(short))
        folder = Path(short, "run/irqbalance")
        folder.mkdir(parents=True)
        server.bind(str(folder / "irqbalance77.sock"))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    words = client.recv(4096).decode()
                    if words == "setup":
                        each = [f"IRQ {n} LOAD 0 DIFF 0 CLASS 0 " for n in banned["list"].split()]
                        client.sendall(f"SLEEP 10 {''.join(each)}BANNED 00000000".encode())
                    elif words.startswith("settings ban irqs "):
                        told = words.removeprefix("settings ban irqs ")
                        banned["list"] = "" if told == "NONE" else told

        threading.Thread(target=serve, daemon=True).start()
        yield made
        server.shutdown(socket.SHUT_RDWR)


def test_an_interface_is_banned_and_given_back(host: Host, tmp_path: Path) -> None:
    from nettop.settings import irqbalance

    setting, book = "irqbalance.ban@eth0", Journal(str(tmp_path / "state"))
    assert settings.read(host.source, settings.parse(setting)) == "off"
    (made,) = apply(plan.plan([(setting, "on")], host.source), host, book, Terms(confirm=0))
    assert made.state == "applied"
    assert irqbalance.banned(host.source) == {24, 25, 26, 40}
    (back,) = undo.undo(book, host, everything=True)
    assert back.state == "undone"
    assert irqbalance.banned(host.source) == {40}


def test_who_was_told_is_no_longer_named(host: Host, tmp_path: Path) -> None:
    (Path(host.root) / "proc/77").mkdir()
    (Path(host.root) / "proc/77/comm").write_text("irqbalance\n")
    setting, moved = "irqbalance.ban@eth0", "irq.affinity@eth0/rx-0"
    assert [note for note in owners.notes(host.source, moved) if setting in note]
    settings.write(host, settings.parse(setting), "on")
    assert owners.notes(host.source, moved) == ()


def test_some_that_were_banned_by_others_are_banned_again(host: Host, tmp_path: Path) -> None:
    from nettop.settings import irqbalance

    irqbalance._ask(host.source, "settings ban irqs 25 26 40")
    address, book = settings.parse("irqbalance.ban@eth0"), Journal(str(tmp_path / "state"))
    assert settings.data(address, settings.read(host.source, address)) == "25-26"
    apply(plan.plan([(str(address), "on")], host.source), host, book, Terms(confirm=0))
    assert irqbalance.banned(host.source) == {24, 25, 26, 40}
    assert [one.state for one in undo.undo(book, host, everything=True)] == ["undone"]
    assert irqbalance.banned(host.source) == {25, 26, 40}


def test_another_daemon_has_forgotten_it(host: Host, tmp_path: Path) -> None:
    book = Journal(str(tmp_path / "state"))
    apply(plan.plan([("irqbalance.ban@eth0", "on")], host.source), host, book, Terms(confirm=0))
    folder = Path(host.root) / "run/irqbalance"
    (folder / "irqbalance77.sock").rename(folder / "irqbalance78.sock")
    (told,) = undo.undo(book, host, everything=True)
    assert (told.state, "was restarted" in told.because) == ("void", True)


def test_a_list_that_the_daemon_would_cut_is_refused(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = settings.parse("irqbalance.ban@eth0")
    monkeypatch.setattr(irq, "of", lambda *_: list(range(1000, 1095)))
    assert settings.check(host.source, address, "on") == "on"
    monkeypatch.setattr(irq, "of", lambda *_: list(range(1000, 1096)))
    with pytest.raises(ValueError, match="IRQBALANCE_ARGS"):
        settings.check(host.source, address, "on")


def test_without_the_daemon_it_is_not_there(tmp_path: Path) -> None:
    host = fake_host.make(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not run"):
        settings.read(host.source, settings.parse("irqbalance.ban@eth0"))


def test_an_interface_without_interrupts_is_not_there_to_ban(host: Host) -> None:
    from nettop.settings import irqbalance

    with pytest.raises(FileNotFoundError, match="lo has no interrupts") as error:
        irqbalance.read(host.source, settings.parse("irqbalance.ban@lo"))
    assert error.value.errno == errno.ENOENT
