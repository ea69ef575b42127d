"""Which end sends in the test of a setting: data passes the setting that is tested."""

from __future__ import annotations

import pytest
from folded import folded

from nettop import settings
from nettop.trials.facing import facing, reverse, side
from nettop.trials.result import Options

SIDES = {
    "ring.rx@eth0": "rx",
    "ring.tx@eth0": "tx",
    "ring.rx@{nic}": "rx",
    "channels.combined@eth0": "",
    "coalesce.adaptive-rx@eth0": "rx",
    "coalesce.tx-usecs@eth0": "tx",
    "feature.rx-gro@eth0": "rx",
    "feature.tx-tcp-segmentation@eth0": "tx",
    "rps.cpus@eth0/rx-0": "rx",
    "xps.rxqs@eth0/tx-0": "tx",
    "rss.table@eth0": "rx",
    "irq.affinity@eth0/rx-0": "rx",
    "irq.affinity@eth0/combined-0": "",
    "pause.rx@eth0": "tx",
    "pause.tx@eth0": "rx",
    "qdisc.root@eth0": "tx",
    "link.mtu@eth0": "",
    "link.gro-max-size@eth0": "rx",
    "route.initcwnd@default": "tx",
    "sysctl.net.ipv4.tcp_rmem": "rx",
    "sysctl.net.ipv4.tcp_wmem": "tx",
    "sysctl.net.core.netdev_max_backlog": "rx",
    "sysctl.net.ipv4.tcp_congestion_control": "tx",
    "sysctl.net.ipv4.tcp_sack": "",
    "process.affinity@7": "",
}


@folded(("setting", "wanted"), SIDES.items(), ids=SIDES)
def test_the_side_of_a_setting(setting: str, wanted: str) -> None:
    assert side(setting) == wanted


@pytest.mark.parametrize("kind", settings.kinds())
def test_a_kind_declares_sides_of_its_own_names(kind: str) -> None:
    module = settings.kind(kind)
    own = getattr(module, "SIDE", "rx")
    sides = {own} if isinstance(own, str) else set(own.values())
    assert sides <= {"rx", "tx"}
    names = getattr(module, "NAMES", ())
    assert isinstance(own, str) or not names or set(own) <= set(names)


RMEM, WMEM, SACK = (f"sysctl.net.ipv4.tcp_{name}" for name in ("rmem", "wmem", "sack"))


def test_the_end_that_sends_is_the_other_one_for_what_a_host_receives() -> None:
    assert reverse([RMEM, SACK]) is True
    assert reverse([WMEM]) is False
    assert reverse([RMEM, WMEM]) is None
    assert reverse([SACK]) is None
    assert reverse([RMEM], away=True) is False
    assert reverse([WMEM], away=True) is True


def test_a_direction_that_was_given_stays() -> None:
    assert facing("bulk", Options(), [RMEM]).reverse is True
    assert facing("bulk", Options(reverse=False), [RMEM]).reverse is False
    assert facing("bulk", Options(reverse=True), [WMEM]).reverse is True
    assert facing("bulk", Options(bidirectional=True), [RMEM]).reverse is None
    assert facing("udp-latency", Options(), [RMEM]).reverse is None
