"""Settings with the name of a device in them follow the device, whatever has that name now."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from nettop import settings
from nettop.changes import chain, guard, plan, target, undo
from nettop.changes.apply import Terms, apply, risky
from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal
from nettop.changes.retract import retract
from nettop.settings import Host

MTU = "link.mtu@a.0"
FILTER, STALE, MTU6 = (
    "sysctl.net.ipv4.conf.a/0.rp_filter", "sysctl.net.ipv4.neigh.a/0.gc_stale_time",
    "sysctl.net.ipv6.conf.a/0.mtu",
)  # fmt: skip
FILES = {
    "sys/class/net/NIC/mtu": "1500", "proc/sys/net/ipv4/conf/NIC/rp_filter": "0",
    "proc/sys/net/ipv4/neigh/NIC/gc_stale_time": "60", "proc/sys/net/ipv6/conf/NIC/mtu": "1500",
}  # fmt: skip


def device(host: Host, name: str, index: int, **values: str) -> None:
    """A device with its parameters; `values` by the last part of their path."""
    for path, value in (FILES | {"sys/class/net/NIC/ifindex": str(index)}).items():
        file = Path(host.root, path.replace("NIC", name))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(values.get(file.name, value))


def folders(host: Host, name: str) -> list[Path]:
    return [Path(host.root, path.replace("NIC", name)).parent for path in FILES]


def rename(host: Host, old: str, new: str) -> None:
    for one, other in zip(folders(host, old), folders(host, new), strict=True):
        if one.exists():
            one.rename(other)


def remove(host: Host, name: str) -> None:
    for one in folders(host, name):
        shutil.rmtree(one, ignore_errors=True)


def shows(host: Host, setting: str, name: str = "a.0") -> str:
    return settings.read(host.source, settings.on(settings.parse(setting), name))


def make(host: Host, book: Journal, setting: str, value: str, confirm: float = 0) -> None:
    terms = Terms(confirm=confirm, arm=lambda *_: None)
    made = apply(plan.plan([(setting, value)], host.source), host, book, terms)
    assert made[0].state in ("applied", "pending"), made


@pytest.fixture(autouse=True)
def _there(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    device(host, "a.0", 7)


PARAMETERS = [(FILTER, "0", "2"), (STALE, "60", "30"), (MTU6, "1500", "1400")]


@pytest.mark.parametrize(("setting", "old", "new"), PARAMETERS)
def test_a_parameter_is_undone_where_its_device_is_now(
    host: Host, book: Journal, setting: str, old: str, new: str
) -> None:
    make(host, book, setting, new)
    rename(host, "a.0", "b.1")
    device(host, "a.0", 8, rp_filter="2", gc_stale_time="30", mtu="1400")
    (back,) = undo.undo(book, host, everything=True)
    assert (back.state, back.after) == ("undone", old)
    assert back.because == "a.0 has the name b.1 now"
    assert (shows(host, setting, "b.1"), shows(host, setting)) == (old, new)


@pytest.mark.parametrize(("setting", "old", "new"), PARAMETERS)
@pytest.mark.parametrize("anew", [True, False])
def test_a_parameter_of_a_device_that_is_gone_is_not_written(
    host: Host, book: Journal, setting: str, old: str, new: str, *, anew: bool
) -> None:
    make(host, book, setting, new)
    remove(host, "a.0")
    if anew:
        device(host, "a.0", 8, rp_filter="2", gc_stale_time="30", mtu="1400")
    (told,) = undo.undo(book, host, everything=True)
    assert told.state == "void"
    assert told.because == (
        "a.0 was created anew: the change is gone with the old one" if anew
        else "a.0 is gone, and the change with it"
    )  # fmt: skip
    assert not anew or shows(host, setting) == new


@pytest.fixture
def follows(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the kernel, the MTU of IPv6 goes down with that of the device, and never above it."""
    write = settings.write

    def both(to: Host, address: settings.Address, value: str) -> None:
        nic = settings.device(address)
        if address.kind == "link":
            write(to, settings.on(settings.parse(MTU6), nic), value)
        elif int(value) > int(shows(host, MTU, nic)):
            raise OSError(22, "Invalid argument")
        write(to, address, value)

    monkeypatch.setattr(settings, "write", both)


@pytest.mark.parametrize("way", ["guard", "undo", "retract"])
@pytest.mark.usefixtures("follows")
def test_a_side_effect_is_put_back_where_its_device_is_now(
    host: Host, book: Journal, way: str
) -> None:
    make(host, book, MTU, "1400", confirm=60 if way == "guard" else 0)
    assert dict(book.entries()[0].side_effects) == {MTU6: ("1500", "1400")}
    rename(host, "a.0", "b.1")
    device(host, "a.0", 8, mtu="1400")  # the kernel would refuse an IPv6 MTU of 1500 there
    if way == "guard":
        (back,) = guard.revert(book, 1)
    elif way == "undo":
        (back,) = undo.undo(book, host, everything=True)
    else:
        terms = Terms(confirm=60, arm=lambda *_: None)
        (back,) = retract(book, host, (1,), terms=terms)
    assert back.state == {"guard": "reverted", "undo": "undone", "retract": "pending"}[way]
    assert (shows(host, MTU, "b.1"), shows(host, MTU6, "b.1")) == ("1500", "1500")
    assert (shows(host, MTU), shows(host, MTU6)) == ("1400", "1400")


@pytest.mark.usefixtures("follows")
def test_a_series_over_a_new_name_goes_back_to_the_first_side_effect(
    host: Host, book: Journal
) -> None:
    make(host, book, MTU, "1400", confirm=60)
    rename(host, "a.0", "b.1")
    make(host, book, "link.mtu@b.1", "1300", confirm=60)
    assert [r.state for r in guard.revert(book, 2)] == ["reverted", "reverted"]
    assert (shows(host, MTU, "b.1"), shows(host, MTU6, "b.1")) == ("1500", "1500")


def entry(number: int, setting: str, identity: str, **more: object) -> JournaledChange:
    return JournaledChange(number, 0.0, setting, "1", "2", identity=identity, **more)  # type: ignore[arg-type]


def test_one_setting_of_one_device_is_the_same_under_both_names() -> None:
    old, new = entry(1, FILTER, "ifindex 7"), entry(2, FILTER.replace("a/0", "b"), "ifindex 7")
    assert target.same_setting(old, new)
    assert not target.same_setting(old, entry(3, FILTER, "ifindex 8"))
    assert not target.same_setting(old, entry(3, STALE, "ifindex 7"))
    every = entry(4, "sysctl.net.ipv4.conf.all.rp_filter", "")
    assert not target.same_setting(old, every)
    assert target.same_setting(every, every)
    assert chain.series(new, [replaced(old, "1"), new]) == (new, replaced(old, "1"))


def replaced(one: JournaledChange, after: str) -> JournaledChange:
    return entry(one.id, one.setting, one.identity, after=after)


def test_side_effects_of_another_device_of_the_name_do_not_count() -> None:
    moved = entry(1, MTU, "ifindex 7", side_effects={MTU6: ("1500", "1400"), "x": ("1", "2")})
    renamed = entry(2, "link.mtu@b", "ifindex 7")
    assert target.side_effect(moved, MTU6.replace("a/0", "b"), renamed) == ("1500", "1400")
    assert target.side_effect(moved, MTU6, renamed) == (None, None)
    assert target.side_effect(moved, MTU6, entry(2, MTU, "ifindex 8")) == (None, None)
    assert target.side_effect(moved, "x", renamed) == ("1", "2")


@pytest.mark.parametrize(
    ("setting", "nic"),
    [
        (FILTER, "a.0"), ("sysctl.net.ipv6.neigh.eth0.gc_stale_time", "eth0"),
        ("sysctl.net.mpls.conf.eth0.input", "eth0"), ("sysctl.net.ipv4.conf.all.rp_filter", ""),
        ("sysctl.net.ipv4.neigh.default.gc_stale_time", ""), ("sysctl.net.ipv4.tcp_sack", ""),
        ("sysctl.net.core.somaxconn", ""), ("irq.affinity@27", ""), ("rps.cpus@eth0/rx-0", "eth0"),
        ("process.affinity@12", ""),
    ],
)  # fmt: skip
def test_the_device_of_a_setting(setting: str, nic: str) -> None:
    address = settings.parse(setting)
    assert settings.device(address) == nic
    assert settings.device(settings.on(address, "b.2")) == ("b.2" if nic else "")
    assert settings.on(settings.on(address, "b.2"), nic) == address
    assert risky(address, ("a.0", "eth0")) is bool(nic)  # of the device of the session too


@pytest.mark.parametrize("when", ["before the write", "during the write"])
def test_a_device_that_is_made_anew_before_the_write_keeps_its_value(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The guard takes a second to start, and containers come and go."""
    identity, write, anew = settings.identity, settings.write, list[bool]()

    def made(source: Any, address: settings.Address) -> str:
        return "another device" if anew else identity(source, address)

    def during(to: Host, address: settings.Address, value: str) -> None:
        anew.append(True)
        write(to, address, value)

    def arm(*_: object) -> None:
        if when == "before the write":
            anew.append(True)
        else:
            monkeypatch.setattr(settings, "write", during)

    monkeypatch.setattr(settings, "identity", made)
    changes = plan.plan([("link.mtu@eth0", "9000")], host.source)
    (one,) = apply(changes, host, book, Terms(confirm=60, arm=arm))
    assert one.state == ("refused" if when == "before the write" else "conflict")
    assert "another eth0 took its place" in one.because
    assert settings.read(host.source, settings.parse("link.mtu@eth0")) == "1500"
    assert [entry.open for entry in book.entries()] == [False]


def test_a_change_that_the_journal_cannot_record_to_its_end_is_taken_back(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that line it could not be confirmed."""
    note = Journal.note

    def full(self: Journal, number: int, event: str, **values: object) -> None:
        if event == "end":
            raise OSError(28, "No space left on device")
        note(self, number, event, **values)

    monkeypatch.setattr(Journal, "note", full)
    changes = plan.plan([("link.mtu@eth0", "9000")], host.source)
    (one,) = apply(changes, host, book, Terms(confirm=60, arm=lambda *_: None))
    assert (one.state, one.after) == ("reverted", "1500")
    assert "the journal could not be completed" in one.because


def test_a_change_that_was_reverted_before_it_is_told_is_told_as_reverted(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = Journal.note

    def slow(self: Journal, number: int, event: str, **values: object) -> None:
        note(self, number, event, **values)
        if event == "end":
            note(self, number, "reverted")

    monkeypatch.setattr(Journal, "note", slow)
    changes = plan.plan([("link.mtu@eth0", "9000")], host.source)
    (one,) = apply(changes, host, book, Terms(confirm=60, arm=lambda *_: None))
    assert (one.state, one.because) == ("reverted", "the time to confirm was over")
