"""What another host is asked before a frame: counts of requests."""

from collections.abc import Callable, Collection, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from nettop import collect
from nettop.collect import Table
from nettop.host.patterns import NETLINK
from nettop.host.source import Ask, HostLostError
from nettop.sampling import ahead
from nettop.sampling.ahead import Ahead, prepare

A, B, C, D = ((b"data", name) for name in (b"a", b"b", b"c", b"d"))


class Asked:
    """Batches that note what is fetched; `needs`: what each table asks, one more each round."""

    def __init__(self, needs: dict[str, list[Ask]] | None = None) -> None:
        self.needs = needs or {}
        self.known: set[Ask] = set()
        self.fetched: list[set[Ask]] = []
        self.added: list[set[Ask]] = []
        self._asked: list[Ask] = []

    def fetch(self, asks: Iterable[Ask], lead: object = None) -> float:
        self.known = set(asks)
        self.fetched.append(self.known)
        return float(len(self.fetched))

    def now(self) -> float:
        """The time of the next frame: a second after the last."""
        return float(len(self.fetched) + 1)

    def add(self, asks: Iterable[Ask]) -> None:
        self.added.append(set(asks))
        self.known |= self.added[-1]

    def asked(self) -> Collection[Ask]:
        now, self._asked = self._asked, []
        return now

    def rehearse(self, work: Callable[[], object]) -> Collection[Ask]:
        before = set(self.known)
        self.missed: set[Ask] = set()
        work()
        return self.missed - before

    def ask(self, table: str) -> None:
        """The table asks for the next thing only once it has the one before."""
        for one in self.needs[table]:
            self._asked.append(one)
            if one not in self.known:
                self.missed.add(one)
                raise FileNotFoundError(2, "not asked yet", str(one))


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Callable[[Asked], None]:
    """Collectors that ask what the batches need."""

    def use(batches: Asked) -> None:
        made = {
            name: SimpleNamespace(read=lambda _s, n=name: batches.ask(n), TABLE=Table())
            for name in batches.needs
        }
        monkeypatch.setattr(collect, "collector", made.__getitem__)

    return use


def test_a_new_table_is_rehearsed_until_it_asks_for_nothing_more(
    tables: Callable[[Asked], None],
) -> None:
    batches = Asked({"x": [A, B, C], "y": [D]})
    tables(batches)
    at = Ahead().fetch(batches, ["x", "y"], batches)  # type: ignore[arg-type]
    assert batches.fetched == [{A, D}, {A, B, D}, {A, B, C, D}]
    assert at == 3.0


def test_what_asks_without_end_is_rehearsed_eight_times(tables: Callable[[Asked], None]) -> None:
    batches = Asked({"x": [(b"data", b"%d" % n) for n in range(20)]})
    tables(batches)
    Ahead().fetch(batches, ["x"], batches)  # type: ignore[arg-type]
    assert [len(asks) for asks in batches.fetched] == list(range(1, 9))


def test_a_table_that_asks_nothing_is_fetched_once(tables: Callable[[Asked], None]) -> None:
    batches = Asked({"x": []})
    tables(batches)
    known = Ahead()
    assert known.fetch(batches, ["x"], batches) == 1.0  # type: ignore[arg-type]
    assert known.fetch(batches, ["x"], batches) == 2.0  # type: ignore[arg-type]
    assert batches.fetched == [set(), set()]


def test_a_known_table_asks_in_one_batch_what_it_asked_in_its_last_three_readings() -> None:
    batches, known = Asked(), Ahead()
    for asked in ([A, B], [A], [A]):
        known.keep("x", asked)
    known.keep("y", [D])
    known.fetch(batches, ["x"], batches)  # type: ignore[arg-type]
    known.keep("x", [A, C])
    known.fetch(batches, ["x"], batches)  # type: ignore[arg-type]
    assert batches.fetched == [{A, B}, {A, C}]


def test_what_is_asked_in_every_tenth_reading_is_asked_when_it_is_due() -> None:
    batches, known = Asked(), Ahead()
    known.keep("x", [A])
    for reading in range(2, 40):
        known.fetch(batches, ["x"], batches)  # type: ignore[arg-type]
        known.keep("x", [A, B] if reading % 10 == 4 else [A])
    due = [at for at, asked in enumerate(batches.fetched, 2) if B in asked]
    assert due == [5, 6, 7, 22, 23, 24, 32, 33, 34]  # after it was asked twice
    assert all(A in asked for asked in batches.fetched)
    for _ in range(50):
        known.keep("x", [A])
    assert set(known._tables["x"]) == {A}


def test_a_list_of_the_kernel_is_asked_again_after_ten_seconds_before_that_was_seen() -> None:
    batches, known, rows = Asked(), Ahead(), (NETLINK, b"rows")
    known.keep("x", [A, rows])
    for reading in range(1, 30):
        known.fetch(batches, ["x"], batches)  # type: ignore[arg-type]
        known.keep("x", [A, rows] if reading % 11 == 0 else [A])
    due = {at for at, asked in enumerate(batches.fetched, 1) if rows in asked}
    assert {11, 22} <= due
    assert not due & {5, 6, 7, 16, 17, 18, 28, 29}


def test_what_was_asked_before_the_frame_belongs_to_no_table(
    tables: Callable[[Asked], None],
) -> None:
    batches = Asked({"x": [A]})
    tables(batches)
    batches._asked = [D]
    known = Ahead()
    known.fetch(batches, ["x"], batches)  # type: ignore[arg-type]
    assert batches.fetched == [{A}]


@pytest.mark.parametrize("error", [HostLostError("lost"), KeyboardInterrupt()])
def test_a_lost_host_ends_a_rehearsal(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_source: object) -> None:
        raise error

    monkeypatch.setattr(
        collect, "collector", lambda _name: SimpleNamespace(read=read, TABLE=Table())
    )
    batches = Asked()
    with pytest.raises(type(error)):
        Ahead().fetch(batches, ["x"], batches)  # type: ignore[arg-type]


def test_what_stands_in_for_a_table_is_rehearsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def collector(name: str) -> Any:
        def fails(*_words: object) -> None:
            read.append(name)
            raise OSError(name)

        if name == "z":
            return SimpleNamespace(read=fails, TABLE=Table())
        return SimpleNamespace(update=fails, TABLE=Table(instead="z"))

    monkeypatch.setattr(collect, "collector", collector)
    monkeypatch.setattr(ahead, "_ROUNDS", 1)
    batches = Asked()
    Ahead().fetch(batches, ["x", "y"], batches)  # type: ignore[arg-type]
    assert read == ["x", "y", "z"]


def test_work_elsewhere_is_prepared_until_nothing_is_missing() -> None:
    batches = Asked({"x": [A, B]})
    done: list[int] = []

    def work() -> None:
        done.append(1)
        try:
            batches.ask("x")
        except FileNotFoundError:
            return

    prepare(SimpleNamespace(batches=batches), work)
    assert batches.added == [{A}, {B}]
    assert len(done) == 3
    prepare(SimpleNamespace(batches=None), work)
    assert len(done) == 3
