"""A damaged journal, a full disk, a target that goes while it is changed: nothing is lost by it."""

import json
import resource
import shutil
from pathlib import Path
from typing import Any

import fake_host
import pytest

from nettop import settings
from nettop.changes import plan, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.settings import Host

QUIET = Terms(confirm=0)
PORTS = "/proc/sys/net/ipv4/ip_local_reserved_ports"
WANTED = [("rps.cpus@eth0/rx-0", "1"), ("link.txqueuelen@eth0", "70"), ("link.mtu@eth0", "9000")]


@pytest.fixture(autouse=True)
def no_carrier_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interface that is gone has no carrier; the ten seconds for it would only cost time."""
    defaults = plan.settle.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "seconds", 0.0)


def test_a_value_that_was_empty_before_is_in_the_journal(host: Host, book: Journal) -> None:
    file = Path(host.root + PORTS)
    file.write_text("\n")
    setting = "sysctl.net.ipv4.ip_local_reserved_ports"
    apply(plan.plan([(setting, "5001")], host.source), host, book, QUIET)
    (entry,) = book.entries()
    assert (entry.before, entry.after) == ("", "5001")
    assert [one.state for one in undo.undo(book, host, everything=True)] == ["undone"]
    assert file.read_text() == "\n"


BEGIN: dict[str, Any] = {
    "event": "begin", "id": 5, "at": 1.0, "setting": "link.txqueuelen@eth0", "before": "1000",
    "wanted": "70",
}  # fmt: skip
DAMAGE: list[dict[str, Any]] = [
    {"setting": 7}, {"before": None}, {"wanted": {}}, {"at": "x"}, {"id": "5"}, {"group": "x"},
    {"beside": []}, {"beside": {"a": 1}}, {"beside": {"a": [1, 2]}}, {"due": "soon"},
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_line_with_a_wrong_word_hides_no_other(
    host: Host, book: Journal, damage: dict[str, Any]
) -> None:
    apply(plan.plan(WANTED, host.source), host, book, QUIET)
    with open(book.path, "a") as file:
        file.write(json.dumps(BEGIN | damage) + "\n")
        file.write(json.dumps({"event": "end", "id": 1, "state": "party"}) + "\n")
        file.write(json.dumps({"event": "end", "id": 2, "after": 70}) + "\n")
    assert [entry.id for entry in book.entries()] == [1, 2, 3]
    undone = undo.undo(book, host, everything=True)
    assert [one.state for one in undone] == ["undone"] * 3


def test_a_setting_that_cannot_be_asked_does_not_stop_the_others(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(plan.plan(WANTED, host.source), host, book, QUIET)
    ask = settings.shell

    def broken(address: settings.Address, *rest: Any) -> str:
        if address.name == "txqueuelen":
            raise LookupError("it has no words")
        return ask(address, *rest)

    monkeypatch.setattr(settings, "shell", broken)
    undone = undo.undo(book, host, everything=True)
    assert [one.state for one in undone] == ["undone", "conflict", "undone"]
    assert undone[1].because == "it has no words"


def test_a_disk_that_is_full_at_undo_stops_nothing(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = fake_host.contents(tmp_path / "host")
    apply(plan.plan(WANTED, host.source), host, book, QUIET)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(book, "append", full)
        undone = undo.undo(book, host, everything=True)
    assert [one.state for one in undone] == ["undone"] * 3
    assert all("No space left on device" in one.because for one in undone)
    assert fake_host.contents(tmp_path / "host") == before
    assert len([one for one in book.entries() if one.open]) == 3
    again = undo.undo(book, host, everything=True)
    assert [(one.state, one.because) for one in again] == [("undone", "")] * 3


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interface_that_goes_at_the_write_is_told(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    nic = Path(host.root, "sys/class/net/eth0")
    real = settings.write

    def write(door: Host, address: settings.Address, value: str) -> None:
        if when == "before":
            shutil.rmtree(nic)
        real(door, address, value)
        shutil.rmtree(nic)

    changes = plan.plan(WANTED, host.source)
    monkeypatch.setattr(settings, "write", write)
    made = apply(changes, host, book, QUIET)
    assert [one.state for one in made] == ["conflict", "refused", "refused"]
    assert made[0].because
    monkeypatch.setattr(settings, "write", real)
    (undone,) = undo.undo(book, host, everything=True)
    assert (undone.state, "gone" in undone.because) == ("void", True)


def test_an_interface_that_gets_another_name_at_the_write_is_found(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    nic = Path(host.root, "sys/class/net/eth0")
    real = settings.write

    def write(door: Host, address: settings.Address, value: str) -> None:
        real(door, address, value)
        nic.rename(nic.parent / "lan0")

    changes = plan.plan([("link.txqueuelen@eth0", "70")], host.source)
    monkeypatch.setattr(settings, "write", write)
    (made,) = apply(changes, host, book, QUIET)
    assert (made.state, "renamed" in made.because) == ("conflict", True)
    monkeypatch.setattr(settings, "write", real)
    (undone,) = undo.undo(book, host, everything=True)
    assert undone.state == "undone"
    assert (nic.parent / "lan0/tx_queue_len").read_text() == "1000\n"


def test_half_a_file_is_never_kept(host: Host) -> None:
    """A disk that fills up takes the first part of a write and says so."""
    file = Path(host.root, "etc/sysctl.d/90-nettop.conf")
    address = settings.parse("kept.sysctl@net.core.rmem_max")
    settings.write(host, address, "4096")
    before = file.read_text()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9, hard))  # the kernel takes the first bytes only
    try:
        with pytest.raises(OSError, match="File too large"):
            settings.write(host, address, "8192")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_text() == before
    assert [one.name for one in file.parent.iterdir()] == [file.name]
