"""What `advise --json` has of the host itself, so that `nettop fleet` can compare hosts."""

from pathlib import Path
from typing import Any

import pytest

from nettop.facts import Facts
from nettop.facts.kinds.nic import Counters
from nettop.host.recording import Replay, load
from nettop.settings import UnknownError, parse, read
from nettop.views.inventory import address, inventory
from nettop.views.observer import Observer, watch
from nettop.views.past import lost

HOSTS = Path(__file__).parents[1] / "hosts"


def observed(name: str) -> tuple[Replay, Facts, dict[str, Any]]:
    source = Replay(load(str(HOSTS / name)))
    *_, last = watch(Observer(source, window=2.0), 2.0)
    return source, last.facts, inventory(last.facts, last.frame.wall)


@pytest.mark.parametrize("name", ["vm-vmxnet3.host", "vm-e1000e.host", "big-ena.host.gz"])
def test_a_setting_has_the_address_and_the_value_of_get(name: str) -> None:
    source, _, values = observed(name)
    compared = 0
    for setting, value in values["settings"].items():
        if setting.startswith(("host.", "nic.", "napi.threaded")):
            continue
        try:
            now = read(source, parse(setting))
        except OSError:
            continue  # get reads more than a recording has
        assert (setting, now) == (setting, value)
        compared += 1
    assert compared > 3


def test_driver_firmware_and_kernel_are_there() -> None:
    _, facts, values = observed("vm-vmxnet3.host")
    assert values["kernel"] == facts.host.release == "6.1.0"
    assert {"name": "enp129s0", "kind": "nic", "driver": "e1000e", "firmware": "2.1-0"} in values[
        "interfaces"
    ]
    assert values["at"] > 1.7e9
    assert values["settings"]["nic.port_speed@enp0s12"] == "10000000000"


def test_a_name_without_a_setting_is_a_property() -> None:
    _, _, values = observed("vm-vmxnet3.host")
    for name in values["settings"]:
        if name.startswith(("host.", "nic.")):
            with pytest.raises(UnknownError):
                parse(name)


def test_evidence_is_traced_to_its_setting() -> None:
    assert address("nic.coalesce.rx_usecs", "eth0") == "coalesce.rx-usecs@eth0"
    assert address("nic.ring.rx_mini", "eth0") == "ring.rx-mini@eth0"
    assert address("nic.speed", "eth0/rx-3") == "nic.speed@eth0"
    assert address("feature.rx-gro", "eth0") == "feature.rx-gro@eth0"
    assert address("sysctl.net.ipv4.tcp_rmem", "host") == "sysctl.net.ipv4.tcp_rmem"
    assert address("host.irqbalance", "host") == "host.irqbalance"


# What an interface loses, all counters together.


def test_losses_are_summed_and_unknown_where_none_is_counted() -> None:
    assert lost(Counters()) is None
    assert lost(Counters(rx_dropped=0.0)) == 0.0
    assert lost(Counters(ring_drops=1.0, rx_dropped=2.0, qdisc_drops=4.0)) == 7.0
