"""`--peer` where the other end cannot be read, or is this host: one sentence."""

import pytest
from live.limits.stage import Stage
from warm import Warm

pytestmark = [
    pytest.mark.netns,
    pytest.mark.needs("nsenter"),
]


@pytest.mark.parametrize("prefix", ["false", "sh -c 'exit 7'", "/no/such/prefix"])
@pytest.mark.parametrize("command", ["why", "advise"])
def test_an_end_that_cannot_be_read_is_one_sentence(command: str, prefix: str, warm: Warm) -> None:
    done = warm.run((command, "--seconds", "1", "--peer", prefix))
    assert done.returncode == 3, done
    assert done.stderr.startswith(b"nettop: ")
    assert done.stderr.count(b"\n") == 1, done.stderr


def test_a_far_end_that_is_this_host_is_refused(warm: Warm) -> None:
    with Stage("both-same") as stage:
        stage.reader()
        stage.writer("pace=2500000")
        words = ("why", "--seconds", "1", "--peer", "env")
        done = warm.run(words, netns=stage.here, sysfs=False)
    assert done.returncode == 2, done
    assert done.stderr.startswith(b"nettop: ")
