"""Byte queue limits: of hardware only, where the driver uses them."""

from __future__ import annotations

from pathlib import Path

from nettop.collect import Memory, bql
from nettop.host.source import Live


def queue(folder: Path, nic: str, name: str, limit: int, inflight: int, *, device: bool) -> None:
    nets = folder / "sys/class/net" / nic
    place = nets / "queues" / name / "byte_queue_limits"
    place.mkdir(parents=True)
    for file, value in (("limit", limit), ("inflight", inflight), ("limit_max", 1_879_048_192)):
        (place / file).write_text(f"{value}\n")
    if device and not (nets / "device").is_symlink():
        (nets / "device").symlink_to("../../../devices/pci0000:00/0000:00:03.0")


def test_queues_of_hardware_with_a_limit(tmp_path: Path) -> None:
    queue(tmp_path, "eth0", "tx-0", 66_000, 1500, device=True)
    queue(tmp_path, "eth0", "tx-1", 0, 0, device=True)
    queue(tmp_path, "veth0", "tx-0", 100, 0, device=False)
    (tmp_path / "sys/class/net/eth0/queues/rx-0").mkdir()
    memory: Memory = {}
    rows = bql.update(Live(str(tmp_path)), memory)
    assert rows == [bql.Row("eth0", "tx-0", 1500, 66_000, 1_879_048_192)]


def test_the_list_of_queues_is_looked_up_now_and_then(tmp_path: Path) -> None:
    queue(tmp_path, "eth0", "tx-0", 66_000, 1500, device=True)
    memory: Memory = {}
    source = Live(str(tmp_path))
    assert len(bql.update(source, memory)) == 1
    queue(tmp_path, "eth1", "tx-0", 66_000, 1500, device=True)
    counts = [len(bql.update(source, memory)) for _ in range(30)]
    assert (counts[0], counts[-1]) == (1, 2)
