"""Drops of nf_tables on a real kernel: rules made by netlink, counted, and found by a rule."""

import re
from collections.abc import Iterator

import pytest
import veth
from changes_netns import python, run, tables
from firewall import LIMIT

pytestmark = [pytest.mark.netns, pytest.mark.needs("ping")]
HERE, _ = veth.spaces("firewall")


@pytest.fixture(scope="module")
def pair() -> Iterator[veth.Pair]:
    with veth.pair("firewall") as place:
        yield place


def test_a_limit_that_drops_counts_the_packets_that_it_dropped(pair: veth.Pair) -> None:
    assert python(HERE, LIMIT).split() == ["0", "0", "0"]
    said = run(*pair.far, "ping", "-q", "-c", "100", "-i", "0.002", veth.NEAR, ok=False)
    sent, received = map(int, re.findall(r"(\d+) packets transmitted, (\d+) received", said)[0])
    (rule,) = tables(HERE, "nftables")["nftables"]
    assert (rule["family"], rule["table"], rule["chain"], rule["rule"]) == ("inet", "t", "in", "2")
    assert rule["limited"]
    assert 0 < rule["packets"] == sent - received < sent
