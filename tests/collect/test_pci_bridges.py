"""The slowest PCI Express link above a card, from the folders of sysfs."""

from __future__ import annotations

from pathlib import Path

from nettop.collect import pci
from nettop.host.source import Live
from nettop.terms.formulas import pcie_usable

ROOT, SWITCH, CARD = "0000:40:01.1", "0000:41:00.0", "0000:42:00.0"


def host(folder: Path, root: tuple[str, str], switch: tuple[str, str]) -> Live:
    """A card with eight lanes of 16 GT/s below a switch below a root port."""
    path = folder / "sys/devices/pci0000:40"
    for name, link in ((ROOT, root), (SWITCH, switch), (CARD, ("16.0 GT/s PCIe", "8"))):
        path /= name
        path.mkdir(parents=True)
        for file, text in zip(("current_link_speed", "current_link_width"), link, strict=True):
            (path / file).write_text(text + "\n")
    net = path / "net/eth0"
    net.mkdir(parents=True)
    (net / "device").symlink_to("../..")
    (folder / "sys/class/net").mkdir(parents=True)
    (folder / "sys/class/net/eth0").symlink_to(f"../../../{net.relative_to(folder)}".replace(
        "../../../sys/", "../../"))  # fmt: skip
    return Live(str(folder))


def test_a_root_port_with_fewer_lanes_is_named_and_limits(tmp_path: Path) -> None:
    (row,) = pci.read(host(tmp_path, ("16.0 GT/s PCIe", "4"), ("16.0 GT/s PCIe", "8")))
    assert (row.above, row.above_speed, row.above_width) == (ROOT, 16.0, 4)
    assert row.narrow
    assert row.usable == pcie_usable(16.0, 4)


def test_bridges_that_carry_as_much_do_not_limit(tmp_path: Path) -> None:
    (row,) = pci.read(host(tmp_path, ("16.0 GT/s PCIe", "8"), ("32.0 GT/s PCIe", "8")))
    assert row.narrow is False
    assert row.usable == pcie_usable(16.0, 8)


def test_a_bridge_without_a_known_width_is_left_out(tmp_path: Path) -> None:
    (row,) = pci.read(host(tmp_path, ("16.0 GT/s PCIe", "0"), ("Unknown", "63")))
    assert row.above is None
    assert row.narrow is None
