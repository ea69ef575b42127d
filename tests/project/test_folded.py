"""A test of many cases tells each that fails, and plays only those that are named."""

import re
from pathlib import Path

import folded
import pytest

from nettop import settings
from nettop.settings import Host


def test_every_case_is_played_and_each_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    played = list[tuple[int, str]]()

    @folded.folded(("a", "b"), [(1, "x"), pytest.param(2, "y", id="two"), (3, "z")])
    def one(a: int, b: str, update: bool) -> None:
        played.append((a, b))
        assert update
        assert a != 2
        if a == 3:
            pytest.fail("no")

    monkeypatch.setattr(folded, "_chosen", [])
    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed") as told:
        one(update=True)
    assert played == [(1, "x"), (2, "y"), (3, "z")]
    notes = [error.__notes__ for error in told.value.exceptions]
    assert notes == [["the case: two"], ["the case: 3-z"]]
    played.clear()
    folded.only("two or 1-X")
    with pytest.raises(BaseExceptionGroup, match="1 of 2 cases failed"):
        one(update=True)
    folded.only("test_folded")  # the test itself was chosen
    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed"):
        one(update=True)
    assert "[two]" in vars(one)


def test_the_name_of_a_case_can_be_sent_to_a_worker() -> None:
    @folded.folded("a", ["a\udcff"])
    def one(a: str) -> None:
        assert a

    assert all(name.isascii() for name in vars(one))


# The tests leave the settings of this machine alone.


def test_a_write_to_this_machine_fails_the_test_and_not_the_machine() -> None:
    host, name = Host.at(), settings.parse("sysctl.net.ipv4.tcp_fin_timeout")
    before = settings.read(host.source, name)
    with pytest.raises(pytest.fail.Exception, match="would be set to"):
        settings.write(host, name, str(int(before) - 1))
    assert settings.read(host.source, name) == before


# No test of `make test` has a bound of time of its own: they wait for conditions (hang.py).


TESTS = Path(__file__).parents[1]
# played for a scoreboard, by hand, or inside the virtual machine; programs that tests start
OTHERS = ("live", "lab", "chain", "benchmarks", "hosts")
BOUND = re.compile(
    r"(?<!\w)timeout\s*=\s*\d|\.(?:join|communicate)\([1-9]|monotonic\(\) [+<>] \d"
    r"|monotonic\(\) - \w+ < (?!HANG\b)|reruns"
)


def test_hang_is_the_only_bound_of_time() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}: {line.strip()}"
        for path in sorted(TESTS.rglob("test_*.py"))
        if path.relative_to(TESTS).parts[0] not in OTHERS and path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if BOUND.search(line)
    ]
    assert not found, "\n".join(found)
