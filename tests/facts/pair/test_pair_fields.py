"""Each field of a pair and of its ends is that of its own measurement, and None without it."""

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.collect import addresses
from nettop.facts.kinds.pair import Pair
from nettop.facts.pair import model
from nettop.frame.rates import Entry, Frame

NAME = ("10.0.0.1", 5001, "10.0.0.2", 40001)
KNOWN = {
    "mtu": 9000, "speed": 25e9, "duplex": "full", "tso": True, "gro": False, "pause_sent": 3.0,
    "pause_received": 4.0, "congestion": "bbr", "pmtu": 8900, "rcvbuf": 6_000_000,
    "rcvbuf_fixed": True, "rcvbuf_max": 33_554_432, "unread": 77, "window": 3_000_000,
    "rwnd_limited": 0.25, "rtt": 0.02, "lost": 11.0, "timestamps": True, "sack": False,
    "wscale": True, "ecn": 2,
}  # fmt: skip
SYSCTLS = {"tcp_rmem": "4096 131072 33554432", "tcp_timestamps": "2", "tcp_sack": "0",
           "tcp_window_scaling": "1", "tcp_ecn": " 2\n"}  # fmt: skip


def pair(*, sysctls: dict[str, str], nics: list[Any], direction: str | None = "send",
         name: tuple[str, int, str, int] = NAME, prefix: int | None = None,
         **more: Any) -> Pair:  # fmt: skip
    one = SimpleNamespace(
        inode=5, protocol="tcp", nic="eth0", direction=direction, congestion="bbr",
        rcvbuf=6_000_000, rcvbuf_fixed=True, recv_q=77, window=3_000_000, rwnd_limited=0.25,
        min_rtt=0.02, retransmits_per_s=11.0, **{"rx_per_s": 2e6, "tx_per_s": 1e8, **more},
    )  # fmt: skip
    others = [SimpleNamespace(**{**vars(one), "inode": inode, "protocol": protocol, "nic": "eth9"})
              for inode, protocol in ((5, "udp"), (6, "tcp"))]  # fmt: skip
    named = {f"net.ipv4.{name}": value for name, value in sysctls.items()}
    facts: Any = SimpleNamespace(flows=[*others, one], nics=nics, sysctls=named)
    row: Any = SimpleNamespace(
        inode=5, pmtu=8900, timestamps=True, sack=None, wscale=False, ecn=None
    )
    own = addresses.Row("eth0", name[0], prefix or 0, 4, "global")
    tables = {} if prefix is None else {"addresses": [Entry(own)]}
    (found,) = model.pairs(
        [(name, row, row)], Frame(0.0, 0.0, tables), facts, facts, ("web1", "web2"), -1.5
    )
    return found


def nic(name: str = "eth0") -> Any:
    features = [SimpleNamespace(name="tx-tcp-segmentation", on=True),
                SimpleNamespace(name="rx-gro", on=False)]  # fmt: skip
    return SimpleNamespace(name=name, mtu=9000, speed=25e9, duplex="full", features=features,
                           per_s=SimpleNamespace(pause_tx=3.0, pause_rx=4.0))  # fmt: skip


def test_all_that_is_known_of_an_end() -> None:
    found = pair(sysctls=SYSCTLS, nics=[nic("eth1"), nic()])
    assert asdict(found.here) == {"host": "web1", "nic": "eth0", **KNOWN}
    assert asdict(found.there) == {"host": "web2", "nic": "eth0", **KNOWN}
    assert (found.rate, found.nic, found.ahead) == (8e8, "eth0", -1.5)
    assert (found.timestamps, found.sack, found.wscale, found.ecn) == (True, None, False, None)


def test_without_an_interface_and_settings_they_are_not_known() -> None:
    found = pair(sysctls={"tcp_ecn": "many"}, nics=[nic("eth1")])
    gone = {"mtu", "speed", "duplex", "tso", "gro", "pause_sent", "pause_received", "rcvbuf_max",
            "timestamps", "sack", "wscale", "ecn"}  # fmt: skip
    assert {name for name, value in asdict(found.here).items() if value is None} == gone


@pytest.mark.parametrize(("direction", "sends"), [("send", True), ("receive", False), (None, None)])
def test_its_direction_and_rate(direction: str | None, sends: bool | None) -> None:
    found = pair(sysctls={}, nics=[], direction=direction, tx_per_s=None)
    assert (found.sends, found.rate) == (sends, 1.6e7)
    assert pair(sysctls={}, nics=[], rx_per_s=None, tx_per_s=None).rate == 0.0


@pytest.mark.parametrize(
    ("local", "remote", "prefix", "shown", "direct"),
    [
        ("10.0.0.1", "10.0.0.2", 24, "10.0.0.1:5001>10.0.0.2:40001", True),
        ("10.0.0.1", "10.0.1.2", 24, "10.0.0.1:5001>10.0.1.2:40001", False),
        ("10.0.0.1", "10.0.0.2", None, "10.0.0.1:5001>10.0.0.2:40001", None),
        ("2001:db8::1", "2001:db8::2", 64, "[2001:db8::1]:5001>[2001:db8::2]:40001", True),
    ],
)
def test_its_name_and_whether_a_router_is_between(
    local: str, remote: str, prefix: int | None, shown: str, direct: bool | None
) -> None:
    name = (local, 5001, remote, 40001)
    found = pair(sysctls={}, nics=[], name=name, prefix=prefix)
    assert (found.id, found.direct) == (shown, direct)
