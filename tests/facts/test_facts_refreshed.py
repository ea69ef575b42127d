"""A card that refreshes its counters every few seconds has the rate of whole periods."""

from nic_tables import Tables, frames, line, link, stats

from nettop.collect import netclass, softnet
from nettop.facts.joined import Joiner

PER_S, SIZE = 50_000, 1000
CARD: Tables = {
    "links": [link("eth0", mtu=1500, parent="0000:03:00.0")],
    "netclass": [netclass.Row("eth0", device="0000:03:00.0", speed=10e9, driver="be2net")],
}


def moment(packets: int, counted: int, others: int = 0, *, interrupts: bool = True) -> Tables:
    """`packets` that passed so far, of which the card has counted some, and lo the rest."""
    rx = {"rx_packets": counted, "rx_bytes": counted * SIZE}
    own = {"interrupts": [line(40, "eth0-rx-0", {0: (packets - others) // 10})]}
    return {
        **CARD,
        "link_stats": [stats("eth0", **rx), stats("lo", rx_packets=others)],
        "softnet": [softnet.Row(0, packets, 0, 0)],
        **(own if interrupts else {}),
    }


def rates(*moments: Tables) -> list[float | None]:
    """Packets a second that eth0 receives, in each frame."""
    joiner = Joiner()
    return [joiner.build(frame).nics[0].per_s.rx_packets for frame in frames(*moments)]


def refreshed(second: int, period: int) -> int:
    """The packets counted at a second."""
    return PER_S * (second // period) * period


def test_rates_are_those_between_two_refreshes() -> None:
    seen = rates(*(moment(PER_S * s, refreshed(s + 1, 3)) for s in range(11)))
    # it stands at second 1, moves at 2 by more than a second's packets, and again at 5 and 8
    assert seen == [None, None, None, None, None, *[PER_S] * 6]


def test_a_period_that_no_frame_meets_exactly_is_averaged() -> None:
    seen = rates(*(moment(PER_S * s, PER_S * int(s / 2.5) * 5 // 2) for s in range(16)))
    assert all(one is None or 0.8 * PER_S <= one <= 1.25 * PER_S for one in seen), seen
    assert seen[-1] is not None
    assert abs(seen[-1] - PER_S) <= 0.1 * PER_S


def test_an_interface_that_rests_has_a_rate_of_zero() -> None:
    busy = [moment(PER_S * s, PER_S * s) for s in range(4)]
    assert rates(*busy, busy[-1], busy[-1]) == [None, *[PER_S] * 3, 0, 0]


def test_a_late_card_without_known_interrupts_is_known_by_its_first_jump() -> None:
    every = [moment(PER_S * s, refreshed(s, 3), interrupts=False) for s in range(10)]
    assert rates(*every) == [None, 0, 0, 3 * PER_S, 3 * PER_S, 3 * PER_S, *[PER_S] * 4]


def test_a_card_whose_counters_stand_for_long_is_idle() -> None:
    busy = [moment(PER_S * s, PER_S * s, interrupts=False) for s in range(3)]
    ended = [moment(PER_S * (3 + s), PER_S * 2, interrupts=False) for s in range(12)]
    assert rates(*busy, *ended)[-1] == 0


def test_a_late_card_whose_traffic_ends_is_idle() -> None:
    begun = [moment(PER_S * s, refreshed(s, 3)) for s in range(10)]
    assert rates(*begun, begun[-1], begun[-1])[-3:] == [PER_S, 0, 0]


def test_a_card_that_counts_at_once_again_has_the_rate_of_each_second() -> None:
    late = [moment(PER_S * s, refreshed(s, 3)) for s in range(7)]
    quick = [moment(PER_S * 6 + 9000 * s, PER_S * 6 + 9000 * s) for s in range(1, 7)]
    assert rates(*late, *quick)[-2:] == [9000, 9000]
