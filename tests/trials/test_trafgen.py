"""What trafgen is told, and that it leaves interrupts and socket memory as they are."""

from typing import Any

import pytest
from fake_ends import trial

from nettop.trials.result import Options
from nettop.trials.run import TrialError
from nettop.trials.tools import trafgen

HERE = "127.0.0.1"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, ["--num", "1000000", "--dev", "lo"]),
        ({"rate": 4.8e6, "seconds": 30, "interface": "eth9"},
         ["--num", "300000", "--rate", "10000pps", "--dev", "eth9"]),
        ({"length": 100, "count": 7, "streams": 2, "cpu_here": (0, 1)},
         ["--num", "7", "--dev", "lo"]),
    ],
)  # fmt: skip
def test_trafgen_sends_frames_and_leaves_the_host_as_it_is(
    monkeypatch: pytest.MonkeyPatch, more: Any, words: list[str]
) -> None:
    monkeypatch.setattr(trafgen, "neighbour", lambda to: f"mac of {to}")
    said = "9 packets outgoing\n 540 bytes outgoing\n 2 sec, 0 usec on CPU0 (9 packets)"
    answers = [{"out": line} for line in said.splitlines()] + [{"exit": 0}]
    one, near, _ = trial(Options(to=HERE, **more), lambda *_: answers, None)
    found = trafgen.measure(one)
    ((script, job),) = near.started
    *argv, frame = job["argv"]
    assert script == "program"
    instances = str(more.get("streams", 1))
    assert argv == ["trafgen", "--notouch-irq", "--no-sock-mem", "--cpus", instances, *words]
    assert frame == (
        f"{{ eth(da=mac of {HERE}), ipv4(saddr={HERE}, daddr={HERE}, ttl=64),"
        f" udp(sp=9, dp=9), fill(0, {more.get('length', 18)}) }}"
    )
    assert (found.bits_per_second, found.details["pps"]) == (2160, 4.5)


def test_trafgen_cannot_be_bound_to_another_core() -> None:
    one, near, _ = trial(Options(to=HERE, cpu_here=(1,)), lambda *_: [], None)
    with pytest.raises(TrialError, match="binds its instances to the cores 0, 1, … itself"):
        trafgen.measure(one)
    assert near.started == []
