"""`nettop --peer` whose far end cannot be read: a sentence beside the picture."""

import pytest
from live.limits.both import LIMITS
from live.limits.stage import Stage
from peer_screens import screens

pytestmark = [
    pytest.mark.netns,
    pytest.mark.needs("nsenter"),
]


@pytest.mark.parametrize("prefix", ["false", "/no/such/prefix"])
def test_a_far_end_that_cannot_be_read_is_a_sentence_beside_the_picture(prefix: str) -> None:
    with Stage("peer-lost") as stage:
        LIMITS["tbf-20mbit"].case.make(stage)
        small, _large, _advisor = screens(stage, prefix, "lost")
    assert "WHAT LIMITS eth0" in small
    assert "trying again" in small
