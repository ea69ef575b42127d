"""Both ends of a shaped transfer: on the screen, and in the result of a test."""

import json
import subprocess
import sys

import pytest
from hang import HANG
from live.limits.both import LIMITS
from live.limits.stage import NEAR, Stage
from peer_screens import screens

pytestmark = [
    pytest.mark.live,
    pytest.mark.netns,
    pytest.mark.needs("nsenter"),
]


def test_both_ends_are_on_the_screen_and_the_far_findings_name_their_host() -> None:
    with Stage("peer-screen") as stage:
        stage.sysctl(stage.there, "net.ipv4.tcp_sack", "0")
        LIMITS["tbf-20mbit"].case.make(stage)
        small, large, advisor = screens(stage, f"ip netns exec {stage.there}")
    for screen in (small, large):
        assert " ⇄ python[" in screen, screen
        assert "qdisc" in screen
        assert f"{stage.there[:24]}: " in screen
    assert f"at {stage.there}" in advisor or f"{stage.there}: " in advisor, advisor


def test_a_test_stores_which_end_limits_and_at_which_stage() -> None:
    with Stage("both-test") as stage:
        # a burst of 100 ms: a smaller one loses its tokens while the core is taken away
        # and four streams: the queue of one stops growing before the limit drops again
        stage.tc("qdisc add dev eth0 root tbf rate 20mbit burst 256k limit 60000")
        done = subprocess.run(
            stage.inside(stage.here, sys.executable, "-m", "nettop", "test", "bulk", "--to", NEAR,
                         "--peer", f"ip netns exec {stage.there}", "--seconds", "10", "--json",
                         "--congestion", "cubic", "--streams", "4"),
            capture_output=True, text=True, check=False, timeout=HANG,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)["ends"]
    assert (ends["stage"], ends["end"]) == ("qdisc", "here")
    assert (ends["lost_stage"], ends["lost_end"]) == ("qdisc", "here")
