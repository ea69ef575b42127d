"""Experiments on a real kernel, by command: what they set, keep and put back.

The runs are real; their figures are planted, so that the verdict is known. Verdicts on what is
measured are in tests/live.
"""

import os
import signal
from collections.abc import Iterator

import pytest
import veth
from hang import until
from trial_ends import Ends, ends
from warm import shared

pytestmark = pytest.mark.netns
RMEM = "net.ipv4.tcp_rmem"
SMALL, NORMAL, LESS = "2048 2304 2304", "4096 131072 6291456", "4096 131072 1000000"
PLANTED = """
import sys
from nettop import settings
from nettop.host.source import Live
from nettop.trials import experiment
def sample(result, metric):  # the larger the buffer, the more
    assert result.bits_per_second
    rmem = settings.read(Live(), settings.parse("sysctl.net.ipv4.tcp_rmem"))
    return experiment.Sample(1.0 * int(rmem.split()[-1]))
experiment.sample = sample
from nettop.cli import main
sys.exit(main(sys.argv[1:]))
"""
PROGRAM = ("-c", PLANTED)


@pytest.fixture(scope="module")
def pair() -> Iterator[Ends]:
    with ends("prove") as both:
        yield both


def course(pair: Ends, *words: str) -> tuple[str, ...]:
    short = ("--seconds", "0.2", "--warmup", "0", "--rate", "20M", "--reverse")
    return (*words, "--to", veth.FAR, *pair.peer, *short)


def test_what_is_better_is_kept_and_undone_by_its_numbers(pair: Ends) -> None:
    pair.kernel(RMEM, SMALL)
    found = pair.nettop(*course(pair, "prove", f"sysctl.{RMEM}={NORMAL}"), program=PROGRAM)
    assert (found["verdict"], found["kept"]) == ("better", True)
    assert len(found["a"]) == len(found["b"]) == 3  # a clear effect
    assert 0 < found["interval"][0] <= found["median_difference"] <= found["interval"][1]
    assert pair.kernel(RMEM) == NORMAL
    pair.nettop("undo", *map(str, found["ids"]))
    assert pair.kernel(RMEM) == SMALL
    assert len(list(pair.folder.glob("nettop/results/*-prove*.json"))) == 1


def test_a_useless_change_is_undone(pair: Ends) -> None:
    name = "net.ipv4.tcp_orphan_retries"
    before = pair.kernel(name)
    words = course(pair, "prove", f"sysctl.{name}=3")
    found = pair.nettop(*words, program=PROGRAM, code=1)
    assert (found["verdict"], found["kept"]) == ("no difference", False)
    assert pair.kernel(name) == before != "3"


def test_a_sweep_finds_the_best_value_and_puts_the_host_back(pair: Ends) -> None:
    pair.kernel(RMEM, LESS)
    values = ("--value", SMALL, "--value", NORMAL)
    words = course(pair, "sweep", f"sysctl.{RMEM}", *values, "--pairs", "5", "--most", "5")
    found = pair.nettop(*words, program=PROGRAM)
    assert found["best"] == NORMAL
    verdicts = {row["value"]: row.get("verdict") for row in found["rows"]}
    assert (verdicts[SMALL], verdicts[NORMAL]) == ("worse", "better")
    assert pair.kernel(RMEM) == LESS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_in_the_middle_the_host_is_as_before(pair: Ends, number: int) -> None:
    pair.kernel(RMEM, SMALL)
    words = course(pair, *PROGRAM, "prove", f"sysctl.{RMEM}={NORMAL}", "--pairs", "50")
    with open(os.devnull, "r+b") as null:
        streams = dict.fromkeys((0, 1, 2), null.fileno())
        running = shared().start(words, streams, pair.environment, netns=pair.here)
    until(lambda: pair.kernel(RMEM) == NORMAL)
    os.kill(running.pid, number)
    until(lambda: pair.kernel(RMEM) == SMALL)
    running.wait()
    pair.nothing_left()


def test_what_cannot_be_tried_is_one_sentence(pair: Ends) -> None:
    pair.kernel(RMEM, NORMAL)
    for wanted, code, says in (
        (f"sysctl.{RMEM}={NORMAL}", 4, "already"),
        ("sysctl.net.ipv4.no_such=1", 4, "no_such"),
        ("no-such-kind.x@eth0=1", 2, "no-such-kind"),
    ):
        assert says in pair.nettop(*course(pair, "prove", wanted), code=code)["said"]
