"""What `why`, the screen and the side questions say where something could not be read."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flow_tables
import psutil
import pytest

from nettop.cli import main
from nettop.collect import socket_owners
from nettop.commands import _silent, _way, why
from nettop.facts.joined import Joiner
from nettop.facts.way import Flow
from nettop.frame.rates import Entry, Frame
from nettop.host.recording import Replay, load
from nettop.host.session import ssh_peer
from nettop.panes import overview
from nettop.panes.unlimited import unknown
from nettop.sampling.sampler import Sampler
from nettop.terms.errors import Refused
from nettop.terms.text import text_of
from nettop.views.build import merge
from nettop.views.scene import Scene
from nettop.views.view import View

HOST = str(Path(__file__).parents[1] / "hosts/guest-transfer.host")


def without(monkeypatch: pytest.MonkeyPatch, *tables: str) -> None:
    """No limit is found, and these tables cannot be read."""
    take, build = Sampler.take, Joiner.build

    def less(self: Sampler, *args: Any) -> Frame:
        frame = take(self, *args)
        kept = {name: rows for name, rows in frame.tables.items() if name not in tables}
        return replace(frame, tables=kept, missing={**frame.missing, **dict.fromkeys(tables, "no")})

    monkeypatch.setattr(Sampler, "take", less)
    monkeypatch.setattr(Joiner, "build", lambda *args: replace(build(*args), limits=()))


def test_no_limit_is_no_lack_of_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    _, facts = why.look(Replay(load(HOST)), 1.0)
    assert why.text(facts.limits, every=False) == ["", "nothing carries data, and nothing waits"]


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (("cpu",), "not enough was seen: cpu: no"),
        (("link_stats", "netdev"), "not enough was seen: netdev: no"),
    ],
)
def test_a_table_that_cannot_be_read_is_the_reason(
    tables: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, *tables)
    with pytest.raises(Refused, match=f"^{said}$"):
        why.look(Replay(load(HOST)), 1.0)


def test_one_of_two_tables_of_interfaces_is_enough() -> None:
    frame, _ = why.look(Replay(load(HOST)), 1.0)
    assert why._unknown(frame, ("none", "link_stats")) == ""
    assert why._unknown(frame, ("none", "nor_this")) == "nor_this has no rows"


def test_what_was_read_once_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    replay = Replay(load(HOST))
    monkeypatch.setattr(Replay, "wait", lambda *_: False)
    with pytest.raises(Refused, match="were read only once"):
        why.look(replay, 1.0)


def test_the_screen_says_that_cpu_times_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = Sampler(Replay(load(HOST))).take(["cpu", "link_stats", "links"])
    facts = Joiner().build(frame)
    assert "measuring the first interval" in " ".join(map(text_of, unknown(Scene(facts=facts))))
    facts = replace(facts, missing={"cpu": "Permission denied: /proc/stat"})
    found = " ".join(map(text_of, unknown(Scene(facts=facts))))
    why = "the CPU times could not be read: Permission denied: /proc/stat"
    assert found == f" ? Cannot tell: {why}    start it as root: `sudo nettop`"


def test_why_there_is_no_first_picture_stays_on_the_screen() -> None:
    scene = merge(Scene(), Scene(shortfall="sampling failed: disk"))
    scene = merge(scene, Scene())
    for width in (40, 100):
        (one,) = overview.lines(scene, View(), width, 20)
        assert "sampling failed: disk" in text_of(one)


def test_a_library_that_fails_answers_no_side_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("line 'btime' not found in /proc/stat")

    for name in ("SSH_CONNECTION", "SSH_CLIENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(psutil, "Process", fails)
    assert ssh_peer() is None


CUT_OFF = str(Path(__file__).parents[1] / "advice/blackhole-route.host.gz")


def test_of_a_port_without_data_the_findings_that_name_it_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["why", "10.151.42.40:53", "--replay", CUT_OFF]) == 0
    said = capsys.readouterr().out
    assert "no limit was seen of a flow from or to 10.151.42.40:53" in said.splitlines()[0]
    assert "✗ destination-out-of-reach@10.151.42.40:53  route 10.151.42.40/32 is a black" in said
    assert main(["why", ":53", "--replay", CUT_OFF, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not told["limits"]
    assert "destination-out-of-reach" in {one["rule"] for one in told["findings"]}


def test_a_port_that_no_finding_names_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", ":5353", "--replay", CUT_OFF]) == 2
    said = capsys.readouterr().err
    assert "no limit was seen of a flow from or to :5353; nobody listens at port 5353" in said
    assert "No finding names it; of this host: destination-out-of-reach@10.151.42.40:53" in said


# Sockets that ask an address in vain, as readings of the sockets show them.


TO = Flow("10.0.0.9", 53, protocol="udp")


class Readings:
    """A source whose UDP sockets are those of one reading after the other, then of the last."""

    def __init__(self, *readings: str) -> None:
        self._left: Iterator[str] = iter(readings)
        self._last = ""

    def text(self, path: str) -> str:
        """The file; /proc/net/udp6 is not there."""
        if path != "/proc/net/udp":
            raise FileNotFoundError(path)
        self._last = next(self._left, self._last)
        return self._last

    def wait(self, seconds: float) -> bool:
        """At once."""
        return seconds > 0

    def now(self) -> float:
        """Of no account."""
        return 0.0


def sockets(*inodes: int, unread: int = 0, port: int = 53) -> str:
    rows = [
        f" 1: 0100000A:9C40 0900000A:{port:04X} 01 00000000:{unread:08X} 00:00000000 00000000 0 0 "
        f"{inode} 2 0 0" for inode in inodes
    ]  # fmt: skip
    return "\n".join(["  sl  local_address rem_address", *rows]) + "\n"


def outcome(*readings: str) -> Any:
    source: Any = Readings(*readings)
    return _way.unanswered(source, TO)


def test_sockets_that_wait_and_end_without_an_answer_are_counted() -> None:
    found = outcome(*[sockets(1)] * 3, *[sockets(2)] * 3, *[sockets(3)] * 3, sockets())
    assert "3 sockets of this host asked 10.0.0.9:53" in found.saw
    assert "port 53 and host 10.0.0.9" in found.command


@pytest.mark.parametrize("readings", [
    [sockets(1, 2)],  # a forwarder keeps its sockets
    [sockets(1), sockets(2), sockets(3), sockets()],  # each is gone at the next reading
    [sockets(1), sockets(1), sockets(1, unread=80), sockets(2), sockets(2), sockets(2, unread=9),
     sockets()],
    [*[sockets(1, port=123)] * 3, *[sockets(2, port=123)] * 3, sockets()],
    [*[sockets(1)] * 3, sockets()],  # one
])  # fmt: skip
def test_answers_and_sockets_that_stay_tell_nothing(readings: list[str]) -> None:
    assert outcome(*readings) is None


@pytest.mark.parametrize("taken", ["port", "process"])
def test_a_bare_number_is_a_port_where_no_process_has_it(
    taken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [flow_tables.socket(local_port=8080, state="listen", inode=7)]
    owner = socket_owners.Row(7, 8080 if taken == "process" else 440, "app")
    frame: Any = Frame(0.0, 0.0, {"sockets_tcp": [Entry(one) for one in rows],
                                  "socket_owners": [Entry(owner)]})  # fmt: skip
    facts: Any = SimpleNamespace(limits=(), processes=())
    assert _silent.meant(frame, facts, "8080") == ("8080" if taken == "process" else ":8080")
    assert f"8080 is taken as {'a process' if taken == 'process' else 'port :8080'}" in (
        capsys.readouterr().err
    )
    for other in ("9", "eth0", ":8080", None):
        assert _silent.meant(frame, facts, other) == other
    assert capsys.readouterr().err == ""


def test_a_bare_number_of_a_port_names_its_flows(capsys: pytest.CaptureFixture[str]) -> None:
    words = "--json", "--replay", HOST.replace("guest-transfer", "vm-send-buffer")
    assert main(["why", ":5201", *words]) == 0
    named = json.loads(capsys.readouterr().out)["limits"]
    assert main(["why", "5201", *words]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("nettop: 5201 is taken as port :5201: no process with a socket has")
    assert json.loads(out)["limits"] == named
