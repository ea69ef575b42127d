"""Unconfirmed changes of one device: one base, one deadline; their undo; what was typed before."""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from risky import pauses

from nettop import settings
from nettop.changes import Result, chain, guard, plan, status, undo, unguarded
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal, since_boot
from nettop.changes.memory import Memory
from nettop.changes.retract import retract
from nettop.settings import Host

MTU, LENGTH, THREADED = "link.mtu@eth0", "link.txqueuelen@eth0", "napi.threaded@eth0"
OTHER = "sysctl.net.core.netdev_max_backlog"


@pytest.fixture(autouse=True)
def _there(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))


def terms(seconds: float = 60) -> Terms:
    return Terms(confirm=seconds, arm=lambda *_: None, carries=("eth0",))


def make(host: Host, book: Journal, *wanted: tuple[str, str], seconds: float = 60) -> Result:
    made = apply(plan.plan(wanted, host.source), host, book, terms(seconds))
    assert {r.state for r in made} <= {"pending", "applied"}, made
    return made[-1]


def shows(host: Host, setting: str = MTU) -> str:
    return settings.read(host.source, settings.parse(setting))


def states(book: Journal) -> list[str]:
    return [entry.state for entry in book.entries()]


def test_a_second_try_goes_back_to_what_stood_before_the_first(host: Host, book: Journal) -> None:
    make(host, book, (MTU, "1400"))
    make(host, book, (MTU, "1300"))
    back = guard.revert(book, 1)  # the older guard too takes all of it back
    assert [r.state for r in back] == ["reverted", "reverted"]
    assert shows(host) == "1500"
    assert guard.revert(book, 2) == ()
    assert [r.after for r in guard.confirm(book, (2,))] == ["1500"]


def test_every_setting_of_the_device_goes_back_and_others_stay(host: Host, book: Journal) -> None:
    make(host, book, (MTU, "1400"))
    make(host, book, (LENGTH, "5000"))
    make(host, book, (OTHER, "5000"))
    make(host, book, (THREADED, "on"))
    guard.revert(book, 1)
    assert [shows(host, one) for one in (MTU, LENGTH, THREADED)] == ["1500", "1000", "off"]
    assert shows(host, OTHER) == "5000"


def test_a_setting_is_written_once_on_its_way_back(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("1400", "1300", "1200"):
        make(host, book, (MTU, value))
    written: list[str] = []
    write = settings.write

    def watch(to: Host, address: settings.Address, value: str) -> None:
        written.append(value)
        write(to, address, value)

    monkeypatch.setattr(settings, "write", watch)
    guard.revert(book, 3)
    assert written == ["1500"]
    assert states(book) == ["reverted"] * 3


def test_the_newest_gives_all_of_them_its_time(host: Host, book: Journal) -> None:
    make(host, book, (MTU, "1400"), seconds=5)
    make(host, book, (LENGTH, "5000"), seconds=500)
    first, second = book.entries()
    assert first.due == second.due
    assert first.deadline == second.deadline
    make(host, book, (MTU, "1300"), seconds=50)
    assert {e.due for e in book.entries()} == {chain.expiry(book.entries())}
    assert chain.expiry(book.entries()) < since_boot() + 51
    make(host, book, (OTHER, "5000"))
    assert guard.revert(book, 1, at_once=False) == ()


def test_the_newest_confirmed_keeps_all_the_older_itself_and_those_before(
    host: Host, book: Journal
) -> None:
    for value in ("1400", "1300", "1200"):
        make(host, book, (MTU, value))
    assert [r.id for r in guard.confirm(book, (2,))] == [1, 2]
    guard.revert(book, 3)
    assert shows(host) == "1300"
    make(host, book, (MTU, "1250"))
    make(host, book, (LENGTH, "5000"))
    assert [r.id for r in guard.confirm(book, (5,))] == [4, 5]
    assert guard.revert(book, 5) == ()
    undo.undo(book, host, everything=True)
    assert (shows(host), shows(host, LENGTH)) == ("1500", "1000")


def test_a_plain_confirm_is_one_line_on_the_disk(host: Host, book: Journal) -> None:
    make(host, book, (MTU, "1400"))
    make(host, book, (MTU, "1300"))
    before = len(Path(book.path).read_bytes().splitlines())
    guard.confirm(book)
    assert len(Path(book.path).read_bytes().splitlines()) == before + 1
    assert states(book) == ["applied", "applied"]


def test_nothing_is_kept_for_good_on_top_of_what_waits(host: Host, book: Journal) -> None:
    make(host, book, (MTU, "1400"))
    (made,) = apply(plan.plan([(MTU, "1300")], host.source), host, book, Terms(confirm=0))
    assert made.state == "refused"
    assert "change 1 is not confirmed" in made.because
    assert shows(host) == "1400"
    plain = Terms(confirm=60, arm=lambda *_: None)
    make(host, book, (LENGTH, "5000"))
    (made,) = apply(plan.plan([(LENGTH, "6000")], host.source), host, book, plain)
    assert made.state == "pending"


def test_a_change_by_others_stays_theirs(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book, (MTU, "1400"))
    settings.write(host, settings.parse(MTU), "1350")
    later, slept = since_boot() + 3600, list[float]()
    monkeypatch.setattr(guard, "since_boot", lambda: later)
    pauses(monkeypatch, slept.append)
    guard.wait(Memory(book), 1)  # it ends: what was put there is not ours to take away
    assert (shows(host), slept) == ("1350", [1.0, 2.0, 4.0])
    assert any("1350" in told for told in book.failures())
    (entry,) = book.entries()
    assert (entry.state, entry.open, entry.deadline) == ("conflict", True, None)
    assert "it shows '1350', neither the old '1500' nor what nettop left" in entry.because
    book.mark_shown()
    assert unguarded.notices(book) == ()
    (told,) = guard.confirm(book, (1,))
    assert told.state == "conflict"
    (back,) = retract(book, host, (1,), terms=terms(0), force=True)
    assert (back.state, shows(host)) == ("undone", "1500")


def test_a_value_that_comes_back_to_ours_soon_is_taken_back(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book, (MTU, "1400"))
    settings.write(host, settings.parse(MTU), "1350")
    later = since_boot() + 3600
    monkeypatch.setattr(guard, "since_boot", lambda: later)
    pauses(monkeypatch, lambda _: settings.write(host, settings.parse(MTU), "1400"))
    guard.wait(Memory(book), 1)
    assert (shows(host), states(book)) == ("1500", ["reverted"])


def test_a_guard_tries_again_until_it_could(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book, (MTU, "1400"))
    write, tries = settings.write, iter("xxx")

    def refuse(to: Host, address: settings.Address, value: str) -> None:
        if next(tries, ""):
            raise OSError(16, "Device or resource busy")
        write(to, address, value)

    slept: list[float] = []
    monkeypatch.setattr(settings, "write", refuse)
    pauses(monkeypatch, slept.append)
    later = since_boot() + 3600
    monkeypatch.setattr(guard, "since_boot", lambda: later)
    guard.wait(Memory(book), 1)
    assert shows(host) == "1500"
    assert len(slept) == 3
    told = [row for row in Path(book.path).read_text().splitlines() if "guard-failed" in row]
    assert sum("busy" in row for row in told) == 1  # the same failure is told once
    assert not book.failures()  # the change is closed


@pytest.mark.parametrize("number", guard.STOPS)
def test_a_guard_that_is_stopped_takes_all_back_at_once(
    host: Host, book: Journal, number: signal.Signals
) -> None:
    make(host, book, (MTU, "1400"), seconds=600)
    make(host, book, (LENGTH, "5000"), seconds=600)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, guard.STOPS)
    try:
        signal.pthread_kill(threading.get_ident(), number)
        guard.wait(Memory(book), 2)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    assert (shows(host), shows(host, LENGTH)) == ("1500", "1000")
    assert states(book) == ["reverted", "reverted"]


def test_a_guard_waits_for_a_newer_change_that_is_being_armed(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "PATIENCE", 0.1)
    made = make(host, book, (MTU, "1400"))
    book.note(made.id or 0, "armed", due=since_boot() - 1, deadline=time.time() - 1)
    (first,) = book.entries()
    with book.lock():
        fresh = {"before": "1400", "wanted": "1300", "after": None, "state": "begun"}
        due = since_boot() + 30
        book.begin(replace(first, group=0, armed=False, due=due, **fresh))  # type: ignore[arg-type]
        assert guard.revert(book, 1, at_once=False) == ()
    assert shows(host) == "1400"
    assert [r.state for r in guard.revert(book, 1, at_once=False)] == ["reverted", "reverted"]


def test_old_journals_are_still_read(host: Host, book: Journal) -> None:
    os.makedirs(book.folder, mode=0o700)
    Path(book.path).write_text(
        '{"event":"begin","id":1,"at":1,"setting":"link.mtu@eth0","before":"1500","wanted":"1400",'
        '"group":1,"deadline":2,"due":99999999999,"identity":"ifindex 2"}\n'
        '{"event":"armed","id":1,"at":1,"due":99999999999,"deadline":3}\n'
        '{"event":"end","id":1,"at":1,"state":"pending","effect":"applied","after":"1400"}\n'
    )
    settings.write(host, settings.parse(MTU), "1400")
    assert states(book) == ["pending"]
    assert [r.state for r in guard.revert(book, 1)] == ["reverted"]
    assert shows(host) == "1500"


# -- undo ------------------------------------------------------------------------------------------


def kept(host: Host, book: Journal, *values: str) -> None:
    for value in values:
        make(host, book, (MTU, value))
    guard.confirm(book)


def test_the_undo_of_a_risky_change_waits_and_goes_back_to_the_change(
    host: Host, book: Journal
) -> None:
    kept(host, book, "9000")
    (made,) = retract(book, host, (1,), terms=terms())
    assert (made.state, made.id, shows(host)) == ("pending", 2, "1500")
    assert "change 2 takes it back" in status.overtaken(book.entries()[0], host, book.entries())
    guard.revert(book, 2)
    assert shows(host) == "9000"
    assert states(book) == ["applied", "reverted"]


def test_a_confirmed_undo_closes_what_it_undid(host: Host, book: Journal) -> None:
    kept(host, book, "9000", "8000")
    (made,) = retract(book, host, everything=True, terms=terms())
    assert (made.before, made.wanted, shows(host)) == ("8000", "1500", "1500")
    (told,) = guard.confirm(book)
    assert (told.state, told.before, told.wanted, told.after) == ("undone", "1500", "8000", "1500")
    assert states(book) == ["undone"] * 3
    assert retract(book, host, everything=True, terms=terms()) == ()
    (again,) = retract(book, host, (1,), terms=terms())
    assert (again.state, "nothing to undo" in again.because) == ("unchanged", True)


def test_the_undo_of_what_waits_needs_no_word(host: Host, book: Journal) -> None:
    kept(host, book, "9000")
    make(host, book, (MTU, "8000"))
    (made,) = retract(book, host, (2,), terms=terms())
    assert (made.state, shows(host)) == ("undone", "9000")


def test_an_undo_that_waits_can_be_taken_back_itself(host: Host, book: Journal) -> None:
    kept(host, book, "9000")
    retract(book, host, (1,), terms=terms())
    (again,) = retract(book, host, everything=True, terms=terms())
    assert (again.state, again.id, shows(host)) == ("pending", 2, "1500")
    (again,) = retract(book, host, (1,), terms=terms())
    assert (again.state, again.id) == ("pending", 2)
    (back,) = retract(book, host, (2,), terms=terms())
    assert (back.state, back.after, shows(host)) == ("undone", "9000", "9000")
    assert states(book) == ["applied", "reverted"]


def test_a_change_on_top_of_an_undo_that_waits_keeps_both(host: Host, book: Journal) -> None:
    kept(host, book, "9000")
    retract(book, host, (1,), terms=terms())
    make(host, book, (MTU, "1400"))
    guard.revert(book, 3)
    assert shows(host) == "9000"
    retract(book, host, (1,), terms=terms())
    make(host, book, (MTU, "1400"))
    guard.confirm(book)
    assert states(book) == ["undone", "reverted", "reverted", "undone", "applied"]
    retract(book, host, everything=True, terms=terms(0))
    assert shows(host) == "1500"


def test_only_the_device_of_a_risky_undo_waits(host: Host, book: Journal) -> None:
    make(host, book, (OTHER, "5000"))
    make(host, book, (MTU, "9000"), (LENGTH, "5000"))
    guard.confirm(book)
    made = retract(book, host, everything=True, terms=terms())
    assert {r.setting: r.state for r in made} == {
        OTHER: "undone", MTU: "pending", LENGTH: "pending"
    }  # fmt: skip
    assert len({e.group for e in book.entries() if e.undoes}) == 1
    guard.revert(book, 4)
    assert (shows(host), shows(host, LENGTH), shows(host, OTHER)) == ("9000", "5000", "1000")


def test_an_undo_without_its_guard_is_not_made(host: Host, book: Journal) -> None:
    def broken(*_: object) -> None:
        raise OSError(5, "no process could be started")

    kept(host, book, "9000")
    (made,) = retract(book, host, (1,), terms=Terms(confirm=30, arm=broken))
    assert made.state == "refused"
    assert shows(host) == "9000"
    assert states(book) == ["applied", "refused"]


def test_what_others_changed_is_not_undone(host: Host, book: Journal) -> None:
    kept(host, book, "9000")
    settings.write(host, settings.parse(MTU), "4000")
    (made,) = retract(book, host, (1,), terms=terms())
    assert (made.state, shows(host)) == ("conflict", "4000")
    (made,) = retract(book, host, (1,), terms=terms(), force=True)
    assert (made.state, shows(host)) == ("pending", "1500")
    guard.revert(book, 2)
    assert shows(host) == "4000"
