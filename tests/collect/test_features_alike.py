"""Features of many interfaces: computed once for those that are alike."""

from __future__ import annotations

from netlink_bytes import Fake, bitset, device, string_set

from nettop.collect import features


def test_features_that_many_interfaces_have_alike_are_computed_once() -> None:
    names = ["tx-sg", "tx-tso"]
    alike = bitset(2, 0b11, 0xFF), bitset(3, 0b10, None), bitset(4, 0b01, None)
    raw = b"".join(device(f"veth{n}", *alike) for n in range(20))
    answers = {"ethtool/features": raw, "ethtool/strings/features": string_set(4, names)}
    features._states.cache_clear()
    rows = features.update(Fake(answers), {})
    assert len(rows) == 40
    assert {row.interface for row in rows} == {f"veth{n}" for n in range(20)}
    assert {(row.name, row.on, row.wanted, row.fixed) for row in rows} == {
        ("tx-sg", True, False, False),
        ("tx-tso", False, True, False),
    }
    assert features._states.cache_info().misses == 1
