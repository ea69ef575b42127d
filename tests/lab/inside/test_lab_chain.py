"""Unconfirmed changes of ring and MTU on a real driver, e1000e, against the model."""

import pytest
from faults.chain_model import Play
from lab.inside.kernel import INTEL, mtu, ring

pytestmark = [pytest.mark.topology("two-nodes"), pytest.mark.full]
SETTINGS = {"ring.rx": ["512", "1024"], "link.mtu": ["1400", "1300"]}


def test_whatever_is_done_the_device_is_as_the_model_says() -> None:
    before = (ring(INTEL), mtu(INTEL))
    moves = Play(INTEL, SETTINGS, 5, slack=20.0).play(5)
    assert sum(moves.values()) >= 5
    assert (ring(INTEL), mtu(INTEL)) == before
