"""The ethtool messages of an interface, from a JSON file: rings, flow control, private flags."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

DEVICE = {
    "rings": {"rx": 256, "rx_max": 4096, "tx": 256, "tx_max": 4096},
    "pause": {"autoneg": 0, "rx": 1, "tx": 1},
    "privflags": {"fast": 0, "odd": 0},
}


def functions(file: Path) -> dict[str, Callable[..., Any]]:
    """`values`, `field` and `put` of settings._ethtool, `strings` of host.netlink.ethtool."""

    def values(_source: object, what: str, _nic: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(file.read_text())[what]
        if what == "privflags":
            mask = sum(on << at for at, on in enumerate(found.values()))
            return {"flags": SimpleNamespace(value=mask)}
        return found

    def field(source: object, what: str, nic: str, name: str, _title: str) -> int:
        return int(values(source, what, nic)[name])

    def put(_host: object, what: str, _nic: str, fields: Mapping[str, object]) -> None:
        device = json.loads(file.read_text())
        device[what] |= fields
        file.write_text(json.dumps(device))

    def strings(_source: object, what: str, _nic: str) -> list[str]:
        return [*json.loads(file.read_text())[what]]

    return {"values": values, "field": field, "put": put, "strings": strings}
