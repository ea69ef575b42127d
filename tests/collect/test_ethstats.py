"""Statistics as 802.3 and RMON define them: the answers, who is asked, what becomes of them."""

import struct
from dataclasses import replace
from typing import Any

import scenes
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import Fake, link, message, nest, number, text, u64

from nettop.collect import ethstats, nicstats, nicstats_raw
from nettop.collect._drivers import Plan
from nettop.frame.rates import Entry, Frame
from nettop.host.netlink.codec import attribute
from nettop.panes import niccounters
from nettop.sampling.sampler import Sampler
from nettop.terms.text import text_of
from nettop.views.view import View

PHY, MAC, CTRL, RMON = range(4)


def group(which: int, *stats: tuple[int, int], hist: bytes = b"") -> bytes:
    """One group of statistics, as net/ethtool/stats.c writes it."""
    return nest(
        4,
        number(2, which),
        number(3, 17 + which),
        *(nest(4, attribute(index, u64(value))) for index, value in stats),
        hist,
    )


def device(name: str, *groups: bytes) -> bytes:
    head = struct.pack("=BBH", 33, 1, 0) + nest(2, number(1, 2), text(2, name)) + number(5, 0)
    return message(21, head + b"".join(groups))


def bucket(way: int, low: int, high: int, packets: int) -> bytes:
    return nest(way, number(7, low), number(8, high), attribute(9, u64(packets)))


FULL = device(
    "eth0",
    group(PHY, (0, 3)),
    group(MAC, (0, 1 << 40), (4, 5), (5, 2), (13, 11), (19, 1), (21, 6)),
    group(CTRL, (1, 9)),
    group(RMON, (0, 4), hist=bucket(5, 64, 64, 7) + bucket(5, 65, 127, 8) + bucket(6, 1519, 0, 1)),
)


def test_names_and_values_are_those_that_ethtool_prints() -> None:
    assert ethstats.parse(FULL + device("lo", group(MAC), group(RMON))) == {
        "eth0": {
            "eth-phy-SymbolErrorDuringCarrier": 3,
            "eth-mac-FramesTransmittedOK": 1 << 40,
            "eth-mac-FrameCheckSequenceErrors": 5,
            "eth-mac-AlignmentErrors": 2,
            "eth-mac-FramesLostDueToIntMACRcvError": 11,
            "eth-mac-InRangeLengthErrors": 1,
            "eth-mac-FrameTooLongErrors": 6,
            "eth-ctrl-MACControlFramesReceived": 9,
            "rmon-etherStatsUndersizePkts": 4,
            "rx-rmon-etherStatsPkts64Octets": 7,
            "rx-rmon-etherStatsPkts65to127Octets": 8,
            "tx-rmon-etherStatsPkts1519toMaxOctets": 1,
        }
    }


def test_a_later_kernels_group_and_statistic_are_left_out() -> None:
    later = device("eth0", group(9, (0, 1)), group(PHY, (0, 3), (7, 8)))
    assert ethstats.parse(later) == {"eth0": {"eth-phy-SymbolErrorDuringCarrier": 3}}


def test_rates_are_of_what_was_counted_between_two_questions() -> None:
    source = Fake(
        {"ethtool/stats": FULL, "ethtool/stats/eth0": device("eth0", group(PHY, (0, 13)))}
    )
    sampler = Sampler(source)
    sampler.take(["ethstats"])
    source.wait(2.0)
    (entry,) = sampler.take(["ethstats"]).tables["ethstats"]
    assert (entry.now.name, entry.rate("value")) == ("eth-phy-SymbolErrorDuringCarrier", 5.0)
    assert source.asked == ["ethtool/stats", "ethtool/stats/eth0"]


def test_a_kernel_without_them_is_named_as_missing_and_not_asked_each_time() -> None:
    source = Fake({"ethtool/stats": 95})
    sampler = Sampler(source)
    for _ in range(3):
        frame = sampler.take(["ethstats"])
        assert frame.missing == {"ethstats": "as given"}
        source.wait(1.0)
    assert source.asked == ["ethtool/stats"]


def test_a_driver_s_error_leaves_the_statistics_of_the_others() -> None:
    source = Fake({"ethtool/stats": 5, "ethtool/stats/eth0": FULL, "ethtool/stats/eth1": 5})
    source.netlinks["route/links"] = link(2, "eth0") + link(3, "eth1")
    assert ethstats.every(source) == ethstats.parse(FULL)


def test_two_hosts_do_not_share_what_was_read() -> None:
    one, other = Sampler(Fake({"ethtool/stats": FULL})), Sampler(Fake({"ethtool/stats": b""}))
    for _ in range(2):
        assert one.take(["ethstats"]).rows("ethstats")
        assert not other.take(["ethstats"]).rows("ethstats")
    assert one.source.asked == ["ethtool/stats"]  # type: ignore[attr-defined]


def test_what_the_driver_does_not_tell_is_taken_from_the_standard() -> None:
    (row,) = nicstats.update(Fake({"ethtool/stats": FULL, "route/links": b""}), {})
    assert (row.interface, row.phy_errors, row.length_errors, row.phy_discards) == (
        "eth0",
        7,
        7,
        11,
    )
    assert row.ring_drops is None


def test_the_drivers_own_word_stands() -> None:
    told = replace(nicstats._bare("eth0"), plan=Plan({"phy_errors": (0,)}, {}), values=(42,))
    row = nicstats.row(told, ethstats.parse(FULL)["eth0"])
    assert (row.phy_errors, row.length_errors) == (42, 7)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_error_or_statistics(raw: bytes) -> None:
    try:
        ethstats.parse(raw)
    except ValueError:
        return


@given(st.integers(0, len(FULL)), st.integers(0, len(FULL) - 1), st.integers(0, 255))
def test_a_cut_or_changed_answer_is_a_value_error_or_statistics(
    cut: int, at: int, byte: int
) -> None:
    changed = bytearray(FULL)
    changed[at] = byte
    for raw in (FULL[:cut], bytes(changed)):
        try:
            found = ethstats.parse(raw)
        except ValueError:
            continue
        assert all(value >= 0 for values in found.values() for value in values.values())


def test_the_question_names_the_four_groups() -> None:
    bodies = []

    class Heard(Fake):
        def netlink(self, request: object) -> bytes:
            bodies.append((request.kind, request.dump, request.body))  # type: ignore[attr-defined]
            return FULL

    ethstats.one(Heard(), "eth0")
    ((kind, dump, body),) = bodies
    assert (kind, dump) == (32, False)
    name = nest(2, text(2, "eth0"))
    bits = nest(3, attribute(1, b""), number(2, 4), number(4, 0b1111))
    assert body == name + bits


def test_the_raw_view_lists_them_beside_the_drivers_and_a_level_without_a_rate() -> None:
    def entry(now: Any, before: Any) -> Entry[Any]:
        return Entry(now, before=before, seconds=2.0)

    scene = scenes.lossy()
    assert scene.facts is not None
    (nic, *_) = scene.facts.nics
    name = "eth-mac-FrameCheckSequenceErrors"
    tables = {
        "nicstats_raw": [
            entry(*(nicstats_raw.Row(nic.name, 0, "peer_ifindex", None, n) for n in (7, 7)))
        ],
        "ethstats": [entry(ethstats.Row(nic.name, name, 30), ethstats.Row(nic.name, name, 10))],
    }
    shown = replace(scene, frame=Frame(0.0, 0.0, tables))
    told = [
        text_of(row).split()
        for row in niccounters.counters(shown, View(nic=nic.name, driver_names=True), 90)
    ]
    assert told[1:] == [[name, "10/s", "30"], ["peer_ifindex", "–", "7"]]
