"""Plan, apply, journal, undo on a directory that stands in for a host."""

import json
import os
from pathlib import Path

import fake_host
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from nettop import settings
from nettop.changes import Change, context, journal, plan, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.settings import Host

QUIET = Terms(confirm=0)


def lines(book: Journal) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(book.path).read_text().splitlines()]


def test_a_plan_leaves_out_what_is_so_and_writes_nothing(host: Host, tmp_path: Path) -> None:
    before = fake_host.contents(tmp_path)
    changes = plan.plan(
        [("rps.cpus@eth0/rx-0", "0x6"), ("link.mtu@eth0", "1500"), ("napi.threaded@eth0", "1")],
        host.source,
    )
    assert changes == (
        Change("rps.cpus@eth0/rx-0", "none", "1-2"),
        Change("napi.threaded@eth0", "off", "on"),
    )
    assert fake_host.contents(tmp_path) == before


def test_white_space_in_a_triple_does_not_matter(host: Host) -> None:
    assert plan.plan([("sysctl.net.ipv4.tcp_rmem", "4096 131072\t6291456 ")], host.source) == ()


def test_describe_shows_the_change_or_why_there_is_none(host: Host) -> None:
    shown = plan.describe("sysctl.net.ipv4.tcp_rmem", "4096 131072 67108864", host.source)
    assert shown["before"] == [4096, 131072, 6291456]
    assert shown["shell"] == "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 67108864'"
    assert shown["risk"] == "none"
    absent = plan.describe("sysctl.net.ipv4.tcp_warp", "1", host.source)
    assert absent["before"] is None
    assert "no such parameter" in absent["because"]
    assert "because" in plan.describe("nonsense", "1", host.source)


def test_what_is_offered_says_who_can_do_it(host: Host) -> None:
    def how(setting: str, value: str, *, experiment: bool = False) -> str:
        return str(plan.describe(setting, value, host.source, experiment=experiment)["how"])

    assert how("sysctl.net.ipv4.tcp_rmem", "4096 131072 67108864") == "apply"
    assert how("sysctl.net.ipv4.tcp_rmem", "4096 131072 67108864", experiment=True) == "prove"
    assert how("sysctl.net.ipv4.tcp_warp", "1") == "by-hand"
    beyond = plan.describe("ring.rx@eth0", "1048576", host.source)
    assert (beyond["how"], beyond["because"]) != ("apply", "")
    assert beyond["how"] == "by-hand"


def test_the_line_is_on_the_disk_before_the_host_is_touched(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    write = settings.write

    def watch(host: Host, address: settings.Address, value: str) -> None:
        order.append(str(lines(book)[-1]["event"]))
        write(host, address, value)

    monkeypatch.setattr(settings, "write", watch)
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    assert (made.state, made.after, order) == ("applied", "9000", ["begin"])
    assert [line["event"] for line in lines(book)] == ["begin", "end"]
    assert os.stat(book.path).st_mode & 0o777 == 0o600
    assert os.stat(book.folder).st_mode & 0o777 == 0o700


def test_apply_refuses_when_the_host_has_moved(host: Host, book: Journal) -> None:
    changes = plan.plan([("link.mtu@eth0", "9000"), ("napi.threaded@eth0", "on")], host.source)
    settings.write(host, settings.parse("link.mtu@eth0"), "1400")
    first, second = apply(changes, host, book, QUIET)
    assert first.state == second.state == "refused"
    assert "no longer shows '1500' but '1400'" in first.because
    assert "not tried" in second.because
    assert book.entries() == ()


@pytest.mark.parametrize("setting", fake_host.SETTINGS)
def test_apply_then_undo_is_the_identity(
    host: Host, book: Journal, tmp_path: Path, setting: str
) -> None:
    before = fake_host.contents(tmp_path / "host")
    value = fake_host.SETTINGS[setting]
    (made,) = apply(plan.plan([(setting, value)], host.source), host, book, QUIET)
    assert made.state == "applied", made
    assert fake_host.contents(tmp_path / "host") != before
    (back,) = undo.undo(book, host, [made.id or 0])
    assert back.state == "undone", back
    after = fake_host.contents(tmp_path / "host")
    assert {k: v.split() for k, v in after.items()} == {k: v.split() for k, v in before.items()}


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(sorted(fake_host.SETTINGS)), min_size=1, max_size=12), st.data())
def test_undo_all_restores_any_history(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("history")
    host = fake_host.make(folder / "host")
    book = Journal(str(folder / "state"))
    before = {s: settings.read(host.source, settings.parse(s)) for s in fake_host.SETTINGS}
    for setting in chosen:
        value = data.draw(st.sampled_from([fake_host.SETTINGS[setting], before[setting]]))
        apply(plan.plan([(setting, value)], host.source), host, book, QUIET)
    # any of them may be taken back alone first, in any order
    for entry in data.draw(st.permutations(book.entries())):
        undo.undo(book, host, [entry.id])
    assert all(r.state == "undone" for r in undo.undo(book, host, everything=True))
    assert before == {s: settings.read(host.source, settings.parse(s)) for s in before}
    assert not any(e.open for e in book.entries())


def test_what_another_program_changed_is_a_conflict_and_stays(host: Host, book: Journal) -> None:
    mtu = settings.parse("link.mtu@eth0")
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    settings.write(host, mtu, "4000")
    (back,) = undo.undo(book, host, everything=True)
    assert back.state == "conflict"
    assert "'4000'" in back.because
    assert settings.read(host.source, mtu) == "4000"
    assert book.entries()[0].open
    (forced,) = undo.undo(book, host, [made.id or 0], force=True)
    assert forced.state == "undone"
    assert settings.read(host.source, mtu) == "1500"


def test_an_older_change_waits_for_the_newer_one(host: Host, book: Journal) -> None:
    for value in ("4000", "9000"):
        apply(plan.plan([("link.mtu@eth0", value)], host.source), host, book, QUIET)
    (back,) = undo.undo(book, host, [1])
    assert back.because == "changed again by 2: undo that first"
    assert [r.state for r in undo.undo(book, host, [1, 2])] == ["undone", "undone"]
    assert settings.read(host.source, settings.parse("link.mtu@eth0")) == "1500"


def test_a_new_boot_voids_what_was_not_kept(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    monkeypatch.setattr(context, "boot", lambda: "another")
    (back,) = undo.undo(book, host, everything=True)
    assert back.state == "void"
    assert settings.read(host.source, settings.parse("link.mtu@eth0")) == "9000"


def test_a_renamed_interface_is_found_and_one_made_anew_is_not(
    host: Host, book: Journal, tmp_path: Path
) -> None:
    apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    net = tmp_path / "host/sys/class/net"
    (net / "eth0").rename(net / "lan0")
    (back,) = undo.undo(book, host, everything=True)
    assert back.state == "undone"
    assert (net / "lan0/mtu").read_text() == "1500\n"
    (net / "lan0").rename(net / "eth0")
    apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    (net / "eth0/ifindex").write_text("9\n")
    (back,) = undo.undo(book, host, everything=True)
    assert (back.state, (net / "eth0/mtu").read_text()) == ("void", "9000\n")


def test_another_process_of_the_same_number_is_left_alone(
    host: Host, book: Journal, tmp_path: Path
) -> None:
    apply(plan.plan([("process.affinity@3391", "1")], host.source), host, book, QUIET)
    stat = tmp_path / "host/proc/3391/stat"
    stat.write_text(stat.read_text().replace("4711", "4712"))
    (back,) = undo.undo(book, host, everything=True)
    assert back.state == "void"
    assert settings.read(host.source, settings.parse("process.affinity@3391")) == "1"


def test_a_value_the_driver_rounds_is_recorded_as_it_is(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = settings.write
    monkeypatch.setattr(
        settings, "write",
        lambda h, a, v: write(h, a, "4096" if v == "4000" else v),
    )  # fmt: skip
    change = plan.plan([("rps.flow-cnt@eth0/rx-0", "4000")], host.source)
    (made,) = apply(change, host, book, QUIET)
    assert (made.state, made.after) == ("rounded", "4096")
    (back,) = undo.undo(book, host, everything=True)
    assert (back.state, back.after) == ("undone", "0")


def test_an_acknowledgement_without_an_effect_is_no_success(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(settings, "write", lambda _h, _a, v: written.append(v))
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    assert (made.state, made.because) == ("refused", "the kernel accepted it, but nothing changed")
    assert written == ["9000", "1500"]  # the wish is taken back: nothing waits to happen
    assert not book.entries()[0].open


def test_a_full_disk_changes_nothing(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(plan.plan([("napi.threaded@eth0", "on")], host.source), host, book, QUIET)
    before, whole = fake_host.contents(tmp_path / "host"), Path(book.path).read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:20]))
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    monkeypatch.undo()
    assert made.state == "refused"
    assert "No space left" in made.because
    assert fake_host.contents(tmp_path / "host") == before
    assert Path(book.path).read_bytes() == whole


def test_a_folder_that_others_can_write_is_refused(host: Host, book: Journal) -> None:
    os.makedirs(book.folder, mode=0o700)
    os.chmod(book.folder, 0o777)
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    assert "another user can change" in made.because
    assert settings.read(host.source, settings.parse("link.mtu@eth0")) == "1500"


@given(cut=st.integers(1, 400))
@examples(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_journal_cut_in_the_middle_of_a_line_goes_on(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    host, book = fake_host.make(folder / "host"), Journal(str(folder / "state"))
    apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, QUIET)
    apply(plan.plan([("napi.threaded@eth0", "on")], host.source), host, book, QUIET)
    whole = Path(book.path).read_bytes()
    Path(book.path).write_bytes(whole[:-cut] if cut < len(whole) else b"")
    known = book.entries()
    apply(plan.plan([("rps.cpus@eth0/rx-0", "1")], host.source), host, book, QUIET)
    assert [e.setting for e in book.entries()][: len(known)] == [e.setting for e in known]
    assert book.entries()[-1].state == "applied"
    assert all(isinstance(line, dict) for line in lines(book))


@examples(deadline=None)
@given(st.lists(st.binary(max_size=80), max_size=8))
def test_nothing_in_a_journal_file_ends_the_program(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes]
) -> None:
    book = Journal(str(tmp_path_factory.mktemp("odd")))
    odd = [
        b'{"event":"begin","id":1}',
        b'{"event":"end","id":9}',
        b"[]",
        b'{"id":"x"}',
        b'{"event":"begin","id":1,"at":0,"setting":"x","before":"","wanted":"","beside":[1]}',
        b'{"event":"begin","id":2,"at":0,"setting":"x","before":"","wanted":""}',
        b'{"event":"end","id":2,"beside":[1]}',
    ]
    Path(book.path).write_bytes(b"\n".join([*odd, *rows]))
    book.entries()
    book.failures()


def test_the_journal_of_the_first_edition_is_read(book: Journal) -> None:
    Path(book.path).parent.mkdir(parents=True)
    Path(book.path).write_bytes(
        b'{"event":"begin","id":1,"at":0,"setting":"link.mtu@eth0","before":"1500","wanted":"9000",'
        b'"beside":{"link.gso-max-size@eth0":["65536",null]}}\n'
    )
    (entry,) = book.entries()
    assert dict(entry.side_effects) == {"link.gso-max-size@eth0": ("65536", None)}


def test_two_nettops_wait_for_each_other(book: Journal) -> None:
    with book.lock(), pytest.raises(journal.Busy, match="another nettop"), book.lock(0.1):
        pass
    with book.lock(0.1):
        pass


def test_a_risky_change_is_not_made_without_its_guard(host: Host, book: Journal) -> None:
    def broken(*_: object) -> None:
        raise OSError(5, "no process could be started")

    terms = Terms(confirm=30, arm=broken)
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, terms)
    assert made.state == "refused"
    assert "nothing would revert it" in made.because
    assert settings.read(host.source, settings.parse("link.mtu@eth0")) == "1500"


def test_a_risky_change_is_pending_and_takes_the_others_along(host: Host, book: Journal) -> None:
    armed: list[int] = []
    terms = Terms(confirm=30, arm=lambda _book, entry: armed.append(entry.id))
    wanted = [("rps.cpus@eth0/rx-0", "1"), ("link.mtu@eth0", "9000")]
    made = apply(plan.plan(wanted, host.source), host, book, terms)
    assert [r.state for r in made] == ["pending", "pending"]
    assert armed == [1, 2]
    assert made[0].deadline is not None
    plain = apply(plan.plan([("napi.threaded@eth0", "on")], host.source), host, book, terms)
    assert plain[0].state == "applied"
    carried = Terms(confirm=30, arm=terms.arm, carries=("eth0",))
    queue = apply(plan.plan([("xps.cpus@eth0/tx-0", "1")], host.source), host, book, carried)
    assert queue[0].state == "pending"
