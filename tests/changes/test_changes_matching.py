"""Chains of unconfirmed changes by device and namespace, not by name; what moves along in them."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from nettop import settings
from nettop.changes import chain, context, guard, plan, report, status, target
from nettop.changes.apply import Terms, apply
from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal
from nettop.changes.retract import retract
from nettop.cli import main
from nettop.settings import Host

MTU, LENGTH = "link.mtu@eth0", "link.txqueuelen@eth0"
OFFLOAD, ALONG = "napi.defer-hard-irqs@eth0", "napi.gro-flush-timeout@eth0"
TERMS = Terms(confirm=60, arm=lambda *_: None, carries=("eth0",))


@pytest.fixture(autouse=True)
def _there(host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETTOP_STATE", book.folder)
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))


def make(host: Host, book: Journal, setting: str, value: str) -> int:
    (made,) = apply(plan.plan([(setting, value)], host.source), host, book, TERMS)
    assert made.state == "pending", made
    return made.id or 0


def shows(host: Host, setting: str) -> str:
    return settings.read(host.source, settings.parse(setting))


def entry(setting: str, identity: str, cookie: str = "1", inode: str = "7") -> JournaledChange:
    return JournaledChange(
        1, 0.0, setting, "1", "2", identity=identity, netns=inode, netns_cookie=cookie
    )  # fmt: skip


NODE = "ifindex 3 node 40"
HERE = entry(MTU, NODE)


@pytest.mark.parametrize(
    ("other", "setting", "device", "where"),
    [
        (entry(MTU, NODE), True, True, True),
        (entry("link.mtu@wan", NODE), True, True, True),  # renamed
        (entry(LENGTH, NODE), False, True, True),
        (entry(MTU, "ifindex 3 node 41"), False, False, True),  # made anew
        (entry(MTU, "ifindex 9 node 40", cookie="2"), True, True, False),  # moved
        (entry(MTU, "ifindex 3", cookie="2"), False, False, False),  # only of the same index
        (entry(MTU, "ifindex 3", cookie=""), True, True, True),  # an older journal
        (entry(MTU, ""), True, True, True),
        (entry("sysctl.net.ipv4.tcp_rmem", ""), False, False, True),
        (entry("nonsense", ""), False, False, True),
    ],
)
def test_what_two_changes_have_in_common(
    other: JournaledChange, setting: bool, device: bool, where: bool
) -> None:
    assert target.same_setting(HERE, other) is target.same_setting(other, HERE) is setting
    assert target.same_device(HERE, other) is target.same_device(other, HERE) is device
    assert target.same_namespace(HERE, other) is target.same_namespace(other, HERE) is where


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("process.affinity@77", "process.affinity@77", False),  # another process of that number
        ("sysctl.vm.swappiness", "sysctl.vm.swappiness", True),
        ("sysctl.net.ipv4.tcp_rmem", "sysctl.net.ipv4.tcp_rmem", False),
    ],
)
def test_only_what_a_namespace_has_of_its_own_is_another_in_another(
    one: str, other: str, same: bool
) -> None:
    first, second = entry(one, "a 1" if "@" in one else ""), entry(other, "", cookie="2")
    second = replace(second, identity="a 2" if "@" in other else "")
    assert target.same_setting(first, second) is same


def test_a_renamed_device_is_in_one_chain_with_one_base(
    host: Host, book: Journal, tmp_path: Path
) -> None:
    make(host, book, MTU, "1400")
    (tmp_path / "host/sys/class/net/eth0").rename(tmp_path / "host/sys/class/net/wan")
    make(host, book, "link.mtu@wan", "1300")
    assert [r.state for r in guard.revert(book, 1)] == ["reverted", "reverted"]
    assert shows(host, "link.mtu@wan") == "1500"


def test_another_device_of_that_name_has_a_chain_of_its_own(
    host: Host, book: Journal, tmp_path: Path
) -> None:
    make(host, book, MTU, "1400")
    (tmp_path / "host/sys/class/net/eth0/ifindex").write_text("9\n")
    make(host, book, MTU, "1300")
    assert [e.id for e in chain.of_group(book.entries(), 2)] == [2]
    assert [r.state for r in guard.revert(book, 1)] == ["void"]
    assert shows(host, MTU) == "1300"
    guard.revert(book, 2)
    assert shows(host, MTU) == "1400"


def test_a_device_of_that_name_in_another_namespace_has_a_chain_of_its_own(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book, MTU, "1400")
    there = replace(context.netns(), cookie="424242")
    monkeypatch.setattr(context, "netns", lambda: there)
    (made,) = apply(plan.plan([(LENGTH, "5000")], host.source), host, book, TERMS)
    assert [e.id for e in chain.of_group(book.entries(), made.id or 0)] == [2]


def test_a_late_confirm_tells_the_whole_chain_and_others_that_went_back_since(
    host: Host, book: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    make(host, book, MTU, "1400")
    make(host, book, MTU, "1300")
    guard.revert(book, 2)
    assert main(["confirm"]) == 5
    told = capsys.readouterr().out
    assert "1500 (was 1400)  reverted" in told
    assert "1500 (was 1300)  reverted" in told
    make(host, book, MTU, "1200")
    book.note(3, "confirmed")
    assert main(["confirm"]) == 0
    assert "No change is waiting" in capsys.readouterr().out


def test_an_older_change_that_went_back_after_a_newer_was_kept_is_told(
    host: Host, book: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    make(host, book, MTU, "1400")
    other = Terms(confirm=60, arm=lambda *_: None, carries=("eth1",))
    changes = plan.plan([("irq.affinity@27", "0")], host.source)
    assert [r.state for r in apply(changes, host, book, other)] == ["applied"]
    book.begin(replace(book.entries()[0], setting="link.mtu@eth1", identity="", group=0))
    guard.confirm(book, (3,))
    guard.revert(book, 1)
    assert main(["confirm"]) == 5
    assert f"1  {MTU}: 1500 (was 1400)  reverted" in capsys.readouterr().out


def test_what_is_told_after_the_countdown_is_what_the_host_shows(host: Host, book: Journal) -> None:
    (made,) = apply(plan.plan([(MTU, "1400")], host.source), host, book, TERMS)
    guard.revert(book, 1)
    settings.write(host, settings.parse(MTU), "1450")
    (told,) = report.follow(book, (made,))
    assert (told.state, told.after) == ("reverted", "1450")


def test_a_kept_change_that_was_changed_again_is_told_so(host: Host, book: Journal) -> None:
    make(host, book, MTU, "1400")
    make(host, book, MTU, "1300")
    first, second = guard.confirm(book)
    assert (first.after, first.because) == ("1400", "changed again by 2")
    assert (second.after, second.because) == ("1300", "")
    assert report.code((first, second)) == 0


def test_what_was_cut_short_is_kept_with_a_newer_change(host: Host, book: Journal) -> None:
    make(host, book, MTU, "1400")
    cut = replace(book.entries()[0], setting=LENGTH, before="1000", wanted="9", after=None)
    book.begin(replace(cut, group=0, state="begun"))
    make(host, book, MTU, "1300")
    told = guard.confirm(book)
    assert [(r.id, r.state) for r in told] == [(1, "applied"), (2, "applied"), (3, "applied")]
    assert "interrupted" in told[1].because


def test_what_was_cut_short_and_reverts_by_itself_is_not_said_to_wait_for_nothing(
    host: Host, book: Journal
) -> None:
    make(host, book, MTU, "1400")
    cut = replace(book.entries()[0], setting=LENGTH, before="1000", wanted="9", after=None)
    guard.confirm(book)
    book.begin(replace(cut, group=0, state="begun"))
    (told,) = guard.confirm(book)
    assert (told.id, told.state) == (2, "refused")
    assert told.because.startswith("it was interrupted and is not confirmed; it reverts by itself")


@pytest.fixture
def coupled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device on which every write of the one setting moves the other along."""
    from nettop.settings import napi

    def write(host: Host, address: settings.Address, value: str) -> None:
        host.write(napi.file(address), napi.raw(address, value))

    def both(host: Host, address: settings.Address, value: str) -> None:
        write(host, address, value)
        if str(address) == OFFLOAD:
            write(host, settings.parse(ALONG), {"2": "70", "3": "90"}.get(value, "0"))

    monkeypatch.setattr(napi, "write", both, raising=False)
    monkeypatch.setattr(
        napi, "side_effects", lambda _source, address: (ALONG,) if str(address) == OFFLOAD else (),
        raising=False,
    )  # fmt: skip


@pytest.mark.usefixtures("coupled")
@pytest.mark.parametrize("numbers", [(), (1, 2), (2,), (1,)])
def test_what_moved_along_goes_back_in_a_chain_and_in_a_guarded_undo(
    host: Host, book: Journal, numbers: tuple[int, ...]
) -> None:
    wanted = [(OFFLOAD, "2"), (ALONG, "200000")]
    apply(plan.plan(wanted, host.source), host, book, TERMS)
    guard.revert(book, 1)
    assert (shows(host, OFFLOAD), shows(host, ALONG)) == ("0", "0")
    made = apply(plan.plan(wanted, host.source), host, book, TERMS)
    assert [r.before for r in made] == ["0", "70"]
    guard.confirm(book)
    chosen = [number + 2 for number in numbers]
    made = retract(book, host, chosen, terms=TERMS, everything=not numbers)
    assert {r.state for r in made} == {"pending"}, made
    guard.revert(book, made[0].id or 0)
    assert (shows(host, OFFLOAD), shows(host, ALONG)) == ("2", "200000")
    retract(book, host, chosen, terms=TERMS, everything=not numbers)
    guard.confirm(book)
    if len(numbers) == 1:
        retract(book, host, [7 - chosen[0]], terms=TERMS)
        guard.confirm(book)
    assert (shows(host, OFFLOAD), shows(host, ALONG)) == ("0", "0")
    assert not any(e.open for e in book.entries())
    assert all(e.ended and e.ended <= time.time() and e.last for e in book.entries())
    assert status.late(book.entries(), host) == ()


@pytest.mark.usefixtures("coupled")
def test_what_moved_along_twice_goes_back_to_its_first_value(host: Host, book: Journal) -> None:
    make(host, book, OFFLOAD, "2")
    make(host, book, OFFLOAD, "3")
    assert shows(host, ALONG) == "90"
    guard.confirm(book)
    (made,) = retract(book, host, everything=True, terms=TERMS)
    assert (made.state, shows(host, OFFLOAD), shows(host, ALONG)) == ("pending", "0", "0")
    guard.revert(book, 3)
    assert (shows(host, OFFLOAD), shows(host, ALONG)) == ("3", "90")


def test_what_is_so_only_until_it_reverts_is_told_so(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = plan.plan([(MTU, "1400")], host.source)
    apply(changes, host, book, TERMS)
    (again,) = apply(changes, host, book, TERMS)
    told = "change 1 set it and reverts unless confirmed: nettop confirm 1"
    assert (again.state, again.because) == ("unchanged", told)
    monkeypatch.setattr(host.source, "live", True)  # the command changes no other host
    monkeypatch.setattr(settings, "identity", lambda *_: "ifindex 2")
    monkeypatch.setattr("nettop.commands.set.open_source", lambda _args: host.source)
    assert main(["set", MTU, "1400"]) == 0
    assert told in capsys.readouterr().out
    guard.confirm(book)
    assert main(["set", MTU, "1400"]) == 0
    assert "reverts" not in capsys.readouterr().out
