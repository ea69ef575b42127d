"""The main job on a real kernel: a host seen, judged, fixed, undone, and a test of its network."""

from collections.abc import Iterator

import pytest
from trial_ends import Ends, ends, installed

pytestmark = pytest.mark.netns
SACK = "net.ipv4.tcp_sack"


@pytest.fixture(scope="module")
def pair() -> Iterator[Ends]:
    with ends("mj") as both:
        yield both


def test_a_finding_is_applied_and_undone_and_the_kernel_follows(pair: Ends) -> None:
    pair.kernel(SACK, "0")
    advice = pair.nettop("advise", "--seconds", "1", "--fail-on", "warning", code=1)
    found = {one["rule"]: one for one in advice["findings"]}["loss-recovery-crippled"]
    assert [change["setting"] for change in found["changes"]] == [f"sysctl.{SACK}"]
    (planned,) = pair.nettop("apply", found["id"], "--dry-run")["changes"]
    assert planned["shell"] == f"sysctl -w {SACK}=1"
    assert (planned["state"], pair.kernel(SACK)) == ("planned", "0")
    (done,) = pair.nettop("apply", found["id"])["changes"]
    assert (done["state"], pair.kernel(SACK)) == ("applied", "1")
    (undone,) = pair.nettop("undo", "--all")["changes"]
    assert (undone["state"], pair.kernel(SACK)) == ("undone", "0")
    assert len(pair.nettop("journal")["changes"]) == 1


def test_a_test_starts_and_ends_its_far_side(pair: Ends) -> None:
    installed("iperf3")
    result = pair.trial("iperf3", "--rate", "100M", "--seconds", "2")
    assert result["bits_per_second"] > 0
    assert result["intervals"]
    assert result["cores"]["here"]
    assert result["cores"]["there"]
    assert result["settings"]
