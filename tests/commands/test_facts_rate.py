"""`nettop rate`: counters over an interval of a recording's clock."""

import argparse
import json
from pathlib import Path

import pytest

from nettop.commands import open_source, rate
from nettop.facts.kinds.nic import Nic
from nettop.terms.errors import Refused

HEAD = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n"


def dev(second: int, *, back: bool = False) -> str:
    rx = 81_274 * second
    tx = 0 if back else 1000 + 500 * second
    rows = [
        f"  eth0: {rx * 1514} {rx} 0 0 0 0 0 0 {tx * 66} {tx} 0 0 0 0 0 0",
        f"   br0: {rx * 1514} {rx} 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
        f"  eth1: {second * 640_000} {second * 10} 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
    ]
    return HEAD + "\n".join(rows) + "\n"


def recording(folder: Path, *, moments: int = 3, back: bool = False) -> str:
    parts = ["two NICs and a bridge\n", "-- /sys/class/net/ --\neth0\neth1\nbr0\n"]
    for name in ("eth0", "eth1"):
        parts.append(f"-- /sys/class/net/{name}/ --\ndevice\nspeed\nmtu\ntype\n")
        parts.append(f"-- /sys/class/net/{name}/device@ --\n../../../0000:03:00.0\n")
        for file, text in (("speed", "1000"), ("mtu", "1500"), ("type", "1")):
            parts.append(f"-- /sys/class/net/{name}/{file} --\n{text}\n")
    parts.append("-- /sys/class/net/br0/ --\ntype\nuevent\n")
    parts.append("-- /sys/class/net/br0/type --\n1\n")
    parts.append("-- /sys/class/net/br0/uevent --\nDEVTYPE=bridge\nIFINDEX=9\n")
    parts.append(f"-- /proc/net/dev --\n{dev(0)}")
    for second in range(1, moments):
        parts.append(f"-- @{second}.000 wall {1700000000 + second}.0 --\n")
        parts.append(f"-- /proc/net/dev --\n{dev(second, back=back and second == moments - 1)}")
    path = folder / "host.txt"
    path.write_text("".join(parts))
    return str(path)


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    rate.arguments(parser)
    return parser.parse_args(words)


def test_a_full_gigabit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eth0", "--replay", recording(tmp_path), "--seconds", "2"]
    assert rate.run(parsed(*words, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seconds"] == 2
    assert found["rx"]["packets_per_s"] == 81_274
    assert found["rx"]["counted"] == 81_274 * 1514 * 8
    assert found["rx"]["bytes"] == 2 * 81_274 * 1514
    both = found["total"]
    assert both["bytes"] == found["rx"]["bytes"] + found["tx"]["bytes"]
    assert both["packets_per_s"] == found["rx"]["packets_per_s"] + found["tx"]["packets_per_s"]
    assert both["counted"] * 2 / 8 == both["bytes"]
    assert found["rx"]["share"] == pytest.approx(1.0, abs=1e-4)
    assert found["rx"]["payload"] / 1e6 == pytest.approx(941.48, abs=0.01)
    assert found["tx"]["packets_per_s"] == 500
    assert rate.run(parsed(*words)) == 0
    page = capsys.readouterr().out
    assert "100% of the link" in page
    assert "mean 1514 bytes" in page


def test_superpackets_have_no_wire_rate(tmp_path: Path) -> None:
    path = recording(tmp_path)
    for name, why in (("br0", "not frames on a wire"), ("eth1", "merged packets")):
        found = rate.measure(open_source(parsed(name, "--replay", path)), name, 2)
        assert found["rx"]["wire"] is None
        assert why in found["rx"]["because"]
        assert (found["rx"]["counted"] or 0) > 0


def test_the_frame_check_may_be_counted() -> None:
    nic = Nic("eth0", "nic", speed=1e9, mtu=1500)
    plain = rate.direction(nic, 81_274 * 1514, 81_274)
    with_check = rate.direction(nic, 81_274 * 1518, 81_274, fcs=True)
    assert plain["wire"] == with_check["wire"]
    assert plain["payload"] == with_check["payload"]


def test_a_hypervisors_device_has_no_wire() -> None:
    nic = Nic("eth0", "nic", driver="virtio_net", para=True, speed=1e9, mtu=1500)
    assert "virtio_net" in rate.direction(nic, 1514, 1)["because"]


def test_a_counter_that_went_back_has_no_rate(tmp_path: Path) -> None:
    path = recording(tmp_path, back=True)
    found = rate.measure(open_source(parsed("eth0", "--replay", path)), "eth0", 2)
    assert found["tx"]["counted"] is None
    assert found["tx"]["because"] == "the counter decreased"
    assert "–" in "\n".join(rate.text(found))


def test_a_rate_beyond_the_link_is_no_rate() -> None:
    nic = Nic(name="eth0", kind="nic", speed=1e9, mtu=1500)
    assert rate.direction(nic, 125e6, 82_000)["counted"] == 1e9
    found = rate.direction(nic, 1e12, 1e9)
    assert (found["counted"], found["packets_per_s"]) == (None, None)
    assert found["because"] == "the counter jumped"


def test_refusals(tmp_path: Path) -> None:
    path = recording(tmp_path, moments=1)
    source = open_source(parsed("eth0", "--replay", path))
    with pytest.raises(Refused, match="did you mean eth0") as unknown:
        rate.measure(source, "eht0", 1)
    assert unknown.value.code == 2
    with pytest.raises(Refused, match="only one sample") as single:
        rate.measure(source, "eth0", 1)
    assert single.value.code == 3
    with pytest.raises(Refused) as nothing:
        rate.measure(open_source(parsed("eth0", "--root", str(tmp_path))), "eth0", 1)
    assert nothing.value.code == 3
