"""A limit of the firewall that drops is found while it drops."""

import json
import subprocess

import pytest
import veth
from changes_netns import python
from firewall import LIMIT
from warm import Warm

pytestmark = [
    pytest.mark.live,
    pytest.mark.netns,
]
HERE, _ = veth.spaces("limit")


def test_a_limit_that_drops_is_found(warm: Warm) -> None:
    with veth.pair("limit") as pair:
        python(HERE, LIMIT)
        ping = [*pair.far, *f"ping -q -i 0.01 -w 60 {veth.NEAR}".split()]
        with subprocess.Popen(ping, stdout=subprocess.DEVNULL) as running:
            done = warm.run(("advise", "--json", "--seconds", "6"), netns=HERE)
            running.kill()
    findings = json.loads(done.stdout)["findings"]
    assert "firewall-rate-limit-drops@inet/t/in/2" in [one["id"] for one in findings], done.stderr
