"""A generated fleet: `advise --json` documents of hosts that are alike but for planted differences.

The hosts of one hardware differ as real ones do: interface names, memory sizes and findings of
traffic. A difference is planted by its kind; `plant` returns what a report must name.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

Planted = dict[tuple[str, str], tuple[str, str]]  # host, setting → value, usual
DAY: Final = 86_400.0
BEGAN: Final = 1.79e9
# driver, firmware, number of ports, share of hosts
HARDWARE: Final = (("mlx5_core", "20.31.1014", 2), ("i40e", "8.30 0x8000a48a", 2), ("ena", "", 1))
KERNELS: Final = ("6.1.0-18-amd64", "5.14.0-427.el9.x86_64")
NIC: Final = {
    "link.mtu": "9000", "ring.rx": "4096", "ring.tx": "1024", "coalesce.adaptive-rx": "on",
    "pause.rx": "off", "nic.speed": "25000000000", "nic.pcie.width": "8", "channels.combined": "16",
    **{f"feature.tx-feature-{number}": "on" for number in range(40)},
}  # fmt: skip
SYSCTLS: Final = {
    "sysctl.net.core.rmem_max": "212992", "sysctl.net.ipv4.tcp_congestion_control": "cubic",
    **{f"sysctl.net.ipv4.parameter_{number}": str(number) for number in range(90)},
}  # fmt: skip
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "ring.rx": ("512", "ring-too-small"),
    "nic.pcie.width": ("4", "slot-too-narrow"),
    "sysctl.net.core.rmem_max": ("425984", "buffer-differs"),
    "sysctl.net.ipv4.tcp_congestion_control": ("bbr", ""),
    "feature.tx-feature-7": ("off", ""),
}


def document(number: int, rng: Random) -> dict[str, Any]:
    """A host; hosts whose numbers are equal modulo 6 have the same hardware and kernel."""
    driver, firmware, ports = HARDWARE[number % 3]
    names = [f"{rng.choice(('eth', 'ens', 'enp65s'))}{port}" for port in range(ports)]
    memory = rng.randrange(1000)
    settings = {
        **SYSCTLS,
        "sysctl.net.ipv4.tcp_mem": f"{190_000 + memory} {250_000 + memory} 380000",
    }
    for name in names:
        settings.update({f"{key}@{name}": value for key, value in NIC.items()})
    findings = [finding("retransmits", "host", "host.retransmit_ratio")] * (rng.random() < 0.2)
    return {
        "schema": 1,
        "host": f"web{number:03}",
        "profile": {"name": "server", "why": "generated"},
        "seconds": 5.0,
        "system": {
            "at": BEGAN + rng.random() * DAY,
            "kernel": KERNELS[number % 2],
            "interfaces": [
                {"name": name, "kind": "nic", "driver": driver, "firmware": firmware}
                for name in names
            ],
            "settings": settings,
        },
        "limits": [],
        "findings": findings,
        "missing": {},
    }


def finding(rule: str, target: str, field: str) -> dict[str, Any]:
    """A finding that reads a field."""
    return {
        "id": f"{rule}@{target}", "rule": rule, "target": target, "severity": "warning",
        "title": f"{rule} holds", "evidence": [{"field": field, "value": 1, "unit": ""}],
        "changes": [], "cause": None,
    }  # fmt: skip


def plant(host: dict[str, Any], rng: Random) -> Planted:
    """Change one setting of a host, its firmware or its kernel; a finding may depend on it."""
    system = host["system"]
    kind = rng.choice((*KINDS, "kernel", "firmware"))
    nic = system["interfaces"][0]
    if kind == "kernel":
        before, system["kernel"] = system["kernel"], "6.99.0-rc1"
        return {(host["host"], "kernel"): ("6.99.0-rc1", before)}
    if kind == "firmware" and nic["firmware"]:
        before, nic["firmware"] = nic["firmware"], "1.0-old"
        return {(host["host"], f"firmware@{nic['name']}"): ("1.0-old", before)}
    kind = "ring.rx" if kind == "firmware" else kind
    value, rule = KINDS[kind]
    setting = kind if kind.startswith("sysctl") else f"{kind}@{nic['name']}"
    before, system["settings"][setting] = system["settings"][setting], value
    if rule:
        field = kind if kind.startswith(("sysctl", "nic.")) else f"nic.{kind}"
        host["findings"] = [*host["findings"], finding(rule, nic["name"], field)]
    return {(host["host"], setting): (value, before)}


def write(folder: Path, count: int, outliers: int, seed: int) -> Planted:
    """Write the documents of a fleet; what was planted."""
    rng = Random(seed)
    chosen = set(rng.sample(range(count), outliers))
    planted: Planted = {}
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        host = document(number, rng)
        if number in chosen:
            planted |= plant(host, rng)
        (folder / f"{host['host']}.json").write_text(json.dumps(host))
    return planted
