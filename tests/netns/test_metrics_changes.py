"""The metrics of changes that nettop made: pending, in force, and overwritten by somebody else."""

import pytest

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from changes_netns import Nettop
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.netns


def exported(nettop: Nettop) -> tuple[dict[str, float], float]:
    """The changes by state, without zeros, and the number of drifted settings."""
    code, out, err = nettop.plain("metrics", "--seconds", "0.2")
    assert (code, err) == (0, "")
    found = {metric.name: metric.samples for metric in text_string_to_metric_families(out)}
    assert {one.labels["state"] for one in found["nettop_changes"]} == {
        "applied", "begun", "conflict", "held", "pending", "rounded",
    }  # fmt: skip
    changes = {one.labels["state"]: one.value for one in found["nettop_changes"] if one.value}
    return changes, found["nettop_settings_drifted"][0].value


def test_changes_are_counted_by_state_and_a_foreign_value_is_drift(nettop: Nettop) -> None:
    assert exported(nettop) == ({}, 0)
    nettop("set", "link.txqueuelen@va", "1001")
    assert exported(nettop) == ({"applied": 1}, 0)
    nettop("set", "link.txqueuelen@va", "1002")  # the first change has another value now: no drift
    assert exported(nettop) == ({"applied": 2}, 0)
    nettop.see("ip", "link", "set", "va", "txqueuelen", "500")
    assert exported(nettop) == ({"applied": 2}, 1)
    nettop.see("ip", "link", "set", "va", "txqueuelen", "1002")
    nettop("set", "link.mtu@va", "9000", "--confirm", "600")
    assert exported(nettop) == ({"applied": 2, "pending": 1}, 0)
    nettop("undo", "--all")
    nettop("confirm")
    assert exported(nettop) == ({}, 0)
