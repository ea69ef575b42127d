"""The slowest PCI Express link above a card, from the folders of sysfs."""

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


def on_a_platform_bus(folder: Path, device: str, *functions: str) -> Live:
    """A platform device at that path, and PCI functions whose links sleep."""
    here = folder / "sys/devices" / device
    (here / "net/eth0").mkdir(parents=True)
    (folder / "sys/bus/platform").mkdir(parents=True)
    (here / "subsystem").symlink_to(folder / "sys/bus/platform")
    (here / "net/eth0/device").symlink_to("../..")
    for function in functions:
        path = folder / "sys/devices" / function
        (path / "link").mkdir(parents=True, exist_ok=True)
        (path / "current_link_speed").write_text("5.0 GT/s PCIe\n")
        (path / "current_link_width").write_text("4\n")
        (path / "link/l1_aspm").write_text("1\n")
    (folder / "sys/class/net").mkdir(parents=True)
    (folder / "sys/class/net/eth0").symlink_to(here / "net/eth0")
    return Live(str(folder))


def test_a_platform_device_is_behind_the_pci_function_above_it(tmp_path: Path) -> None:
    function = "pci0002:00/0002:00:00.0/0002:01:00.0"
    (row,) = pci.read(on_a_platform_bus(tmp_path, f"{function}/1f00100000.ethernet", function))
    assert (row.speed, row.width, row.aspm_l1) == (5.0, 4, True)
    assert row.folder == "/sys/class/net/eth0/device/.."


def test_a_platform_device_is_behind_the_only_function_of_its_host_bridge(tmp_path: Path) -> None:
    bridge = "platform/axi/1000120000.pcie"
    root = f"{bridge}/pci0002:00/0002:00:00.0"
    source = on_a_platform_bus(
        tmp_path, f"{bridge}/1f00100000.ethernet", root, f"{root}/0002:01:00.0"
    )
    (row,) = pci.read(source)
    assert row.aspm_l1
    assert row.folder == "/sys/class/net/eth0/device/../pci0002:00/0002:00:00.0/0002:01:00.0"


def test_a_platform_device_beside_two_functions_has_no_slot(tmp_path: Path) -> None:
    bridge = "platform/1000120000.pcie"
    root = f"{bridge}/pci0002:00/0002:00:00.0"
    functions = [f"{root}/0002:01:00.{number}" for number in (0, 1)]
    assert pci.read(on_a_platform_bus(tmp_path, f"{bridge}/1f0.ethernet", *functions)) == []
