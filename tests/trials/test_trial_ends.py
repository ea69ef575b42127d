"""Both ends of a test: what is stored and said of the limit and of the losses."""

import argparse
import os
import signal
import subprocess
from dataclasses import replace

import psutil
import pytest
from hang import HANG, until

from nettop.advice.judge.inline_facts import facts
from nettop.facts.limits import Limit, Reading
from nettop.facts.pair import Joined, Losses, Place
from nettop.facts.pair.model import Sides
from nettop.trials import ends
from nettop.trials.result import Options
from nettop.trials.run import descendants, none_left

EMPTY = facts({}, "server", 0.0)
LOST = Losses(5.0, 9000, 20, 0.0, (12.0, 14.0), (Place("there", "ring", "eth0", (0, 14), ""),))


def joined(stage: str, rate: float, *, to: str = "10.0.0.2", end: str = "there") -> Joined:
    limit = Limit("flow", f"10.0.0.1:5>{to}:7", "tx", rate, stage=Reading(stage, end, stage))
    return Joined(limit, "bulk[4]", "bulk[9]", losses=LOST)


def seen(*flows: Joined) -> ends.Ends:
    thread = ends.Ends(Options(to="10.0.0.2", peer="ssh web2"))
    thread.hosts = ("web1", "web2")
    for one in flows:
        thread._choose(Sides(EMPTY, EMPTY, (one,)))
    return thread


def test_the_last_moment_of_the_load_is_stored() -> None:
    found = seen(joined("cwnd", 1e9), joined("thread", 9e8), joined("application", 1e6))
    document = found.document()
    assert document is not None
    assert (document["stage"], document["end"], document["lost"]) == ("thread", "there", [12, 14])
    assert ends.line(document) == (
        "thread at web2 limits; 12 to 14 of 9,000 segments lost between both stacks, "
        "most at web2 (ring)"
    )


def test_the_stage_of_most_looks_is_stored() -> None:
    """The last look may show how the load ends, and a first one how it begins."""
    looks = ["unknown", "qdisc", "qdisc", "cwnd", "qdisc", "unknown"]
    document = seen(*(joined(stage, 1e9) for stage in looks)).document()
    assert document is not None
    assert document["stage"] == "qdisc"


@pytest.mark.parametrize("to", ["10.0.0.9", "10.0.0.22"])
def test_another_flow_between_both_hosts_is_not_that_of_the_test(to: str) -> None:
    assert seen(joined("thread", 1e9, to=to)).document() is None


def test_what_the_own_queues_refused_is_said() -> None:
    flow = joined("qdisc", 1e9, end="here")
    assert flow.losses is not None
    found = seen(replace(flow, losses=replace(flow.losses, refused=591.2))).document()
    assert found is not None
    assert found["refused"] == 591
    assert ", 591 refused by the sender's queues" in ends.line(found)


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(peer="env"),
        Options(peer="ssh web2", seconds=1),
        Options(peer="ssh web2", no_ends=True),
    ],
)
def test_a_test_in_this_host_or_a_short_one_reads_no_other_end(options: Options) -> None:
    with ends.watching(options) as thread:
        assert thread is None


def test_the_option_that_reads_no_other_end_is_stored_and_repeated() -> None:
    from nettop.commands import test
    from nettop.reports import reading

    parser = argparse.ArgumentParser()
    test.arguments(parser)
    args = parser.parse_args(["bulk", "--to", "10.0.0.2", "--peer", "ssh web2", "--no-ends"])
    assert test.options_of(args) == Options(to="10.0.0.2", peer="ssh web2", no_ends=True)
    stored = {"tool": "bulk", "options": {"to": "10.0.0.2", "no_ends": True}}
    assert reading.again_trial(stored) == "nettop test bulk --to 10.0.0.2 --no-ends"


def test_an_end_that_cannot_be_read_is_left_out() -> None:
    with ends.watching(Options(peer="false")) as thread:
        assert thread is not None
        thread.join(HANG)
    assert thread.document() is None


def test_a_peer_that_is_this_host_is_read_and_has_no_second_end() -> None:
    with ends.watching(Options(to="10.0.0.2", peer="nice")) as thread:
        assert thread is not None
        thread.join(HANG)
    assert thread.hosts[1] == "nice"
    assert thread.document() is None


def test_an_experiment_counts_the_limits_of_its_runs() -> None:
    one, other = seen(joined("thread", 1e9)).document(), seen(joined("cwnd", 1e9)).document()
    assert one is not None
    assert other is not None
    rows = ends.rows([one, other, one])
    assert rows == [
        {"end": "there", "stage": "thread", "runs": 2}, {"end": "there", "stage": "cwnd", "runs": 1}
    ]  # fmt: skip
    assert ends.summary(rows) == (
        "thread at the other end in 2 runs, cwnd at the other end in 1 run"
    )
    assert ends.summary(()) == ""


# What a trial leaves behind is ended, what was there before is not.


def running_in_session(leader: int) -> list[int]:
    """The processes of a session that are no zombies."""
    return [
        one.pid
        for one in psutil.process_iter(["status"])
        if one.info["status"] != psutil.STATUS_ZOMBIE and _session(one.pid) == leader
    ]


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def test_only_what_came_in_between_is_ended() -> None:
    stays = subprocess.Popen(["sleep", "600"])
    try:
        with none_left():
            deaf = subprocess.Popen(
                ["sh", "-c", "trap '' TERM; sleep 600 & echo ready; wait; sleep 600"],
                stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert deaf.stdout is not None
            deaf.stdout.readline()
        assert deaf.wait(timeout=HANG) != 0
        until(lambda: not running_in_session(deaf.pid))
        deaf.stdout.close()
        assert stays.poll() is None
    finally:
        stays.kill()
        stays.wait()


def test_children_of_children_are_found_whatever_they_are_called() -> None:
    """A process may be called what the rest of its line in /proc looks like."""
    script = "echo -n ') R 1' >/proc/$$/comm; sleep 600 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as outer:
        assert outer.stdout is not None
        inner = int(outer.stdout.readline())
        try:
            assert {outer.pid, inner} <= {one.pid for one in descendants()}
        finally:
            os.kill(inner, signal.SIGKILL)
        os.waitid(os.P_PID, outer.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert outer.pid not in {one.pid for one in descendants()}
    assert not {outer.pid, inner} & {one.pid for one in descendants()}
