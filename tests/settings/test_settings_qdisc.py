"""Queueing disciplines in tc's words: quantities, stale options, what is left alone."""

from pathlib import Path

import fake_host
import pytest

from nettop import settings
from nettop.settings import Host, qdisc
from nettop.settings.qdisc import Discipline

ROOT, LEAVES = settings.parse("qdisc.root@eth0"), settings.parse("qdisc.leaves@eth0")
PLACE = 0xFFFFFFFF


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return fake_host.make(tmp_path)


def has(monkeypatch: pytest.MonkeyPatch, *found: Discipline) -> None:
    monkeypatch.setattr(qdisc, "every", lambda *_: list(found))


def mq(handle: int, *leaves: tuple[int, str]) -> tuple[Discipline, ...]:
    """An mq of that handle with leaves, each with a handle of its own."""
    parents = enumerate(leaves, (handle << 16) + 1)
    return (
        Discipline(PLACE, handle << 16, "mq", plain=True),
        *(Discipline(parent, own << 16, value, plain=True) for parent, (own, value) in parents),
    )


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("fq maxrate 10000mbit", "fq maxrate 10gbit"),
        ("FQ  maxrate 1500kbit limit 500p", "fq maxrate 1500kbit limit 500"),
        ("fq_codel target 10ms interval 1s", "fq_codel target 10000us interval 1000000us"),
        ("pfifo limit 70", "pfifo limit 70"),
    ],
)
def test_a_quantity_is_written_as_it_will_be_read(written: str, read: str) -> None:
    assert settings.normal(ROOT, written) == read


@pytest.mark.parametrize(
    ("address", "found", "value"),
    [
        (ROOT, (), "noqueue"),  # a bridge, a veth: the kernel lists no discipline
        (ROOT, mq(1, (2, "fq")), "mq"),
        (LEAVES, mq(1), "noqueue"),
        (LEAVES, mq(1, (2, "fq"), (3, "fq")), "fq"),
        (LEAVES, mq(1, (2, "fq"), (3, "fq_codel")), "mixed"),
    ],
)
def test_disciplines_are_read_as_one_value(
    address: settings.Address, found: tuple[Discipline, ...], value: str,
    host: Host, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    has(monkeypatch, *found)
    assert settings.read(host.source, address) == value


def test_options_are_those_that_differ_from_a_fresh_one() -> None:
    usual = {"quantum": 3028, "initial_quantum": 15140}
    assert qdisc._shown("fq", usual, 1500) == "fq"
    assert qdisc._shown("fq", usual | {"maxrate": 125_000_000}, 1500) == "fq maxrate 1gbit"
    assert qdisc._shown("fq", usual, 9000) == "fq quantum 3028 initial_quantum 15140"
    codel = {"target": 9999, "interval": 99999, "ecn": 0, "quantum": 1514}
    assert qdisc._shown("fq_codel", codel, 1500) == "fq_codel target 10000us noecn"


def test_one_of_the_same_kind_is_made_anew_to_lose_its_options(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def line(address: settings.Address, value: str) -> str:
        return settings.shell(address, value, host.source)

    has(monkeypatch, Discipline(PLACE, 0x80010000, "pfifo limit 500", plain=True))
    first = "tc qdisc replace dev eth0 root "
    assert line(ROOT, "pfifo") == f"{first}handle {qdisc._handle('pfifo')} pfifo"
    assert line(ROOT, "fq") == f"{first}fq"
    has(monkeypatch, *mq(1, (0x8001, "fq maxrate 1gbit"), (0x8002, "fq maxrate 1gbit")))
    leaf = "tc qdisc replace dev eth0 parent"
    assert line(LEAVES, "pfifo") == f"{leaf} 1:1 pfifo; {leaf} 1:2 pfifo"
    handle = qdisc._handle("fq")
    anew = f"{first}handle {handle} mq; {leaf} {handle}1 fq; {leaf} {handle}2 fq"
    assert line(LEAVES, "fq") == anew
    has(monkeypatch, *mq(0, (0, "fq"), (0, "fq")))  # the kernel's own have no place with a name
    assert line(LEAVES, "fq maxrate 1gbit").startswith(f"{first}handle ")


def test_what_could_not_be_put_back_is_left_alone(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    has(monkeypatch, *mq(1, (0x8001, "fq"), (0x8002, "pfifo")))
    for value in ("fq", "pfifo_fast"):
        with pytest.raises(ValueError, match="the queues have different ones"):
            settings.check(host.source, LEAVES, value)


def test_elsewhere_the_handle_belongs_to_the_value(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    has(monkeypatch, *mq(0, (0, "fq"), (0, "fq")))
    (own,) = settings.portable(host.source, ROOT, "mq")
    assert own.argv[:2] == ("sh", "-c")
    for value in ("fq", "pfifo limit 5"):
        (command,) = settings.portable(host.source, ROOT, value)
        assert command.argv[6:8] == ("handle", qdisc._handle(value))
    (command,) = settings.portable(host.source, ROOT, "noqueue")
    assert command.argv[-1] == "noqueue"
