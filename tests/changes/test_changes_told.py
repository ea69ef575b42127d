"""What confirm, undo and the journal tell is what the host shows."""

import json
import time
from dataclasses import replace

import pytest

from nettop import settings
from nettop.changes import context, guard, plan, report, status, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal
from nettop.cli import main
from nettop.commands import prove
from nettop.settings import Host, _device
from nettop.terms.errors import Refused

MTU = "link.mtu@eth0"
DEAF = Terms(confirm=30, arm=lambda *_: None)  # nobody reverts it


@pytest.fixture(autouse=True)
def here(host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands work on the directory."""
    monkeypatch.setenv("NETTOP_STATE", book.folder)
    monkeypatch.setattr(Host, "at", lambda *_: host)


def changed(host: Host, book: Journal, value: str = "1400") -> int:
    (made,) = apply(plan.plan([(MTU, value)], host.source), host, book, DEAF)
    assert made.state == "pending"
    return made.id or 0


def show(host: Host, value: str) -> None:
    settings.write(host, settings.parse(MTU), value)


def test_a_late_confirm_says_what_was_reverted_and_when(
    host: Host, book: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    number = changed(host, book)
    guard.revert(book, number)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(book.entries()[0].ended))
    for words in (["confirm"], ["confirm", str(number)]):
        assert main(words) == 5
        told = capsys.readouterr().out
        assert f"{MTU}: 1500 (was 1400)  reverted" in told
        assert f"reverted at {when}" in told
    show(host, "1450")
    assert main(["confirm", str(number), "--json"]) == 5
    assert json.loads(capsys.readouterr().out)["changes"][0]["after"] == 1450


def test_an_undo_without_a_number_lists_what_can_be_undone(
    host: Host, book: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    why = "nettop: no change given: nettop undo ID…, or nettop undo --all\n"
    assert main(["undo"]) == 2
    assert capsys.readouterr().err == why
    changed(host, book)
    assert main(["undo"]) == 2
    assert capsys.readouterr().err == f"   1  {MTU}: 1500 → 1400\n{why}"
    guard.revert(book, 1)
    assert main(["undo"]) == 2
    assert capsys.readouterr().err == why


def test_a_fix_that_is_in_force_is_not_proved_but_named(host: Host, book: Journal) -> None:
    for value, finding in (("1400", "a@eth0 b@eth0"), ("1450", "b@eth0")):
        wanted = plan.plan([(MTU, value)], host.source)
        apply(wanted, host, book, replace(DEAF, finding=finding))
    for finding, applied in (("b@eth0", True), ("a@eth0", True), ("a@eth", False)):
        if not applied:
            prove._not_applied(finding)
            continue
        with pytest.raises(Refused, match=r"applied it: nettop undo .* first") as refused:
            prove._not_applied(finding)
        assert refused.value.code == 4
    guard.revert(book, 1)
    show(host, "1500")
    prove._not_applied("a@eth0")


def test_a_confirm_of_the_boot_before_is_not_late(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guard.revert(book, changed(host, book))
    monkeypatch.setattr(context, "boot", lambda: "another")
    assert main(["confirm"]) == 0
    assert "No change is waiting" in capsys.readouterr().out


def test_a_newer_change_that_was_kept_ends_the_word_of_the_older(
    host: Host, book: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    guard.revert(book, changed(host, book))
    changed(host, book, "1300")
    assert main(["confirm"]) == 0
    assert f"{MTU}: 1500 → 1300  applied" in capsys.readouterr().out
    assert main(["confirm"]) == 0
    assert "No change is waiting" in capsys.readouterr().out


def test_confirm_shows_the_value_of_the_host(
    host: Host, book: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    number = changed(host, book)
    show(host, "1450")
    assert main(["confirm", str(number)]) == 0
    told = capsys.readouterr().out
    assert f"{MTU}: 1500 → 1450  applied" in told
    assert "changed since: it is 1450" in told


@pytest.mark.parametrize("state", ["undone", "refused", "void", "forgotten"])
def test_a_change_that_does_not_stand_cannot_be_kept(
    host: Host, book: Journal, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    number = changed(host, book)
    show(host, "1500")
    book.note(number, state, because="so it was")
    assert main(["confirm", str(number)]) == 4
    told = capsys.readouterr().out
    assert "there is nothing to keep" in told
    assert "so it was" in told


@pytest.mark.parametrize(
    ("state", "code", "said"),
    [
        ("undone", 0, "undone at 20"), ("reverted", 0, "reverted at 20"), ("void", 0, "closed at"),
        ("refused", 0, "refused at 20"), ("forgotten", 4, "does not undo it any more"),
    ],
)  # fmt: skip
def test_a_second_undo_says_what_became_of_it_and_what_the_host_shows(
    host: Host, book: Journal, state: str, code: int, said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    number = changed(host, book)
    book.note(number, state)
    show(host, "1450")
    (told,) = undo.undo(book, host, [number])
    assert (told.after, said in told.because) == ("1450", True), told
    assert main(["undo", str(number), "--forget"]) == 0  # nothing is open
    assert "Nothing to undo" in capsys.readouterr().out
    assert report.code([told]) == code
    report.show([told])
    assert "None" not in capsys.readouterr().out


def begun(host: Host, book: Journal) -> JournaledChange:
    """An entry whose end was never recorded, as a crash leaves it."""
    with book.lock():
        here = context.netns()
        return book.begin(
            JournaledChange(
                0, time.time(), MTU, "1500", "1400", boot=context.boot(), netns=here.inode,
                identity=settings.identity(host.source, settings.parse(MTU)),
                side_effects={"link.txqueuelen@eth0": ("1000", None)},
            )
        )  # fmt: skip


def test_a_change_that_was_begun_and_never_written_is_told_so(
    host: Host, book: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = begun(host, book)
    assert "never written" in status.overtaken(entry, host, ())
    assert main(["confirm", str(entry.id)]) == 4
    assert "interrupted" in capsys.readouterr().out
    settings.write(host, settings.parse("link.txqueuelen@eth0"), "5000")  # of somebody else
    (back,) = undo.undo(book, host, [entry.id])
    assert (back.state, "never written" in back.because) == ("undone", True)
    assert settings.read(host.source, settings.parse("link.txqueuelen@eth0")) == "5000"


def test_a_change_that_was_begun_and_written_is_put_back(host: Host, book: Journal) -> None:
    entry = begun(host, book)
    show(host, "1400")
    assert status.overtaken(entry, host, ()) == ""
    (back,) = undo.undo(book, host, [entry.id])
    assert (back.state, back.after) == ("undone", "1500")


def test_an_entry_knows_when_it_was_closed_and_what_came_before(host: Host, book: Journal) -> None:
    first = changed(host, book)
    apply(plan.plan([("link.txqueuelen@eth0", "2000")], host.source), host, book, DEAF)
    undo.undo(book, host, [first])
    one, two = book.entries()
    assert (one.last, two.last, two.ended) == (2, 0, None)
    assert one.ended is not None


@pytest.mark.parametrize(
    ("then", "now", "same"),
    [
        ("ifindex 3", "ifindex 3 node 40", True),  # an old entry
        ("ifindex 3", "ifindex 4 node 40", False),
        ("ifindex 3 node 40", "ifindex 9 node 40", True),  # moved
        ("ifindex 3 node 40", "ifindex 3 node 41", False),  # made anew with the same index
        ("ifindex 3 node 40 device 0000:01:00.0", "ifindex 3 node 40 device 0000:02:00.0", False),
        ("ifindex 3 address 02:00", "ifindex 3 address 02:01", False),
        ("ifindex 3 node 40 at 77", "ifindex 3 node 40 at 78", False),  # another daemon
        ("ifindex 3", "", False),
        ("iperf3 started 4711", "iperf3 started 4711", True),
        ("iperf3 started 4711", "iperf3 started 4712", False),
    ],
)
def test_one_device_or_another(then: str, now: str, same: bool) -> None:
    assert _device.same(then, now) is same


def test_an_older_journal_is_read(host: Host, book: Journal) -> None:
    old = {
        "event": "begin", "id": 1, "at": 1.0, "setting": MTU, "before": "1500", "wanted": "1400",
        "boot": context.boot(), "netns": context.netns().inode, "identity": "ifindex 2",
    }  # fmt: skip
    book.append(old)
    book.append({"event": "end", "id": 1, "at": 1.0, "after": "1400"})
    show(host, "1400")
    (back,) = undo.undo(book, host, [1])
    assert (back.state, back.after) == ("undone", "1500")


def test_a_namespace_of_the_same_inode_is_another_when_its_cookie_is(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = "sysctl.net.ipv4.tcp_congestion_control"
    apply(plan.plan([(setting, "bbr")], host.source), host, book, DEAF)
    was = context.netns()
    monkeypatch.setattr(context, "netns", lambda: replace(was, cookie="424242"))
    (told,) = undo.undo(book, host, [1])
    assert told.state in ("conflict", "void")
    assert settings.read(host.source, settings.parse(setting)) == "bbr"


def test_help_lists_no_source_that_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("apply", "set"):
        assert main([verb, "--help"]) == 0
        assert "--host PREFIX with --dry-run, read another" in " ".join(
            capsys.readouterr().out.split()
        )
    assert main(["undo", "--help"]) == 0
    assert "--host" not in capsys.readouterr().out
    assert main(["undo", "3", "--host", "ssh web1"]) == 2
    assert "after --install: PREFIX /opt/nettop/nettop undo" in capsys.readouterr().err
