"""Changes whose setting moved meanwhile, or shows the wanted value already."""

import json
from pathlib import Path

import pytest

from nettop import settings
from nettop.changes import plan, status, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.cli import main
from nettop.settings import Host

QUIET = Terms(confirm=0)


def test_a_conflict_can_be_left_as_it_is(host: Host, book: Journal) -> None:
    mtu = settings.parse("link.mtu@eth0")
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    settings.write(host, mtu, "4000")
    (told,) = undo.forget(book, [made.id or 0])
    assert "stays as it is" in told.because
    assert undo.undo(book, host, everything=True) == ()
    assert settings.read(host.source, mtu) == "4000"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("4000", ""),
        ("1000", "restored since: it is 1000 again"),
        ("5000", "changed since: it is 5000"),
        (None, "it cannot be read now"),
    ],
)
def test_the_journal_looks_at_the_host(
    host: Host, book: Journal, tmp_path: Path, now: str | None, said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    setting = "sysctl.net.core.netdev_max_backlog"
    (result,) = apply(plan.plan([(setting, "4000")], host.source), host, book, QUIET)
    assert result.state == "applied"
    file = tmp_path / "host/proc/sys/net/core/netdev_max_backlog"
    file.unlink() if now is None else file.write_text(now)
    (entry,) = book.entries()
    assert status.overtaken(entry, host, ()) == said
    monkeypatch.setenv("NETTOP_STATE", book.folder)
    monkeypatch.setattr(Host, "at", lambda *_: host)
    assert main(["journal"]) == 0
    shown = capsys.readouterr().out
    assert said in shown
    assert main(["journal", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["changes"]
    assert told.get("since", "") == said
    undo.forget(book, everything=True)
    (entry,) = book.entries()
    assert main(["journal", "--json"]) == 0
    assert "since" not in json.loads(capsys.readouterr().out)["changes"][0]


def test_a_value_that_is_there_already_is_no_refusal(host: Host, book: Journal) -> None:
    changes = plan.plan([("link.mtu@eth0", "9000"), ("napi.threaded@eth0", "on")], host.source)
    settings.write(host, settings.parse("link.mtu@eth0"), "9000")
    first, second = apply(changes, host, book, QUIET)
    assert (first.state, first.after, second.state) == ("unchanged", "9000", "applied")
    assert [entry.setting for entry in book.entries()] == ["napi.threaded@eth0"]


QUEUES = "napi.defer-hard-irqs@eth0"
TIMEOUT = "napi.gro-flush-timeout@eth0"


@pytest.fixture
def coupled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device on which every write of the one setting moves the other to 70."""
    from nettop.settings import napi

    def write(host: Host, address: settings.Address, value: str) -> None:
        host.write(napi.file(address), napi.raw(address, value))

    def both(host: Host, address: settings.Address, value: str) -> None:
        write(host, address, value)
        if str(address) == QUEUES:
            write(host, settings.parse(TIMEOUT), "70" if value == "2" else "0")

    monkeypatch.setattr(napi, "write", both, raising=False)
    monkeypatch.setattr(
        napi,
        "side_effects",
        lambda _source, address: (TIMEOUT,) if str(address) == QUEUES else (),
        raising=False,
    )


@pytest.mark.usefixtures("coupled")
@pytest.mark.parametrize("order", [[1, 2], [2, 1]])
def test_a_setting_that_an_earlier_change_moved_is_changed_and_put_back(
    host: Host, book: Journal, order: list[int]
) -> None:
    changes = plan.plan([(QUEUES, "2"), (TIMEOUT, "200000")], host.source)
    assert [r.state for r in apply(changes, host, book, QUIET)] == ["applied", "applied"]
    assert book.entries()[1].before == "70"
    for number in order:
        (back,) = undo.undo(book, host, [number])
        assert back.state == "undone", back
    assert settings.read(host.source, settings.parse(QUEUES)) == "0"
    assert settings.read(host.source, settings.parse(TIMEOUT)) == "0"


@pytest.mark.usefixtures("coupled")
def test_a_setting_moved_to_what_is_wanted_is_done(host: Host, book: Journal) -> None:
    changes = plan.plan([(QUEUES, "2"), (TIMEOUT, "70")], host.source)
    assert [r.state for r in apply(changes, host, book, QUIET)] == ["applied", "unchanged"]
    undo.undo(book, host, everything=True)
    assert settings.read(host.source, settings.parse(TIMEOUT)) == "0"
