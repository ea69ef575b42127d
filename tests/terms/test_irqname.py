"""Whose queue an interrupt is, by the name its driver gave it."""

from folded import folded

from nettop.terms import irqname


@folded(
    ("names", "driver", "right"),
    [
        (["eth0-rx-0", "eth0-tx-0", "eth0"], None, [("rx", 0), ("tx", 0), (None, None)]),
        (["eth0-rx-1", "eth0-rx-2", "eth0-tx-0"], None, [("rx", 0), ("rx", 1), ("tx", 0)]),
        (["eth0-rx-1", "eth0-tx-0", "eth0-0"], "tg3", [("rx", 0), ("tx", 0), (None, None)]),
        (["eth2-rxtx-7", "eth2-event-8"], None, [("rxtx", 7), (None, None)]),
        (["mlx4-1@0000:04:00.0", "mlx4-async@pci:0000:04:00.0"], None, [("rxtx", 0), (None, None)]),
        (["mlx5_comp3@pci:0000:41:00.0", "mlx5_async_eq@pci:0000:41:00.0"], None,
         [("rxtx", 3), (None, None)]),
        (["i40e-eth0-TxRx-11", "i40e-0000:3b:00.0:misc", "i40e-0000:3b:00.0:fdir-TxRx-0"], None,
         [("rxtx", 11), (None, None), (None, None)]),
        (["ice-lan1-TxRx-0-1"], None, [("rxtx", 0)]),
        (["hns3-0000:7d:00.0-TxRx-0", "hns3-0000:7d:00.0-Rx-3", "hns3-0000:7d:00.0-Tx-1"], None,
         [("rxtx", 0), ("rx", 3), ("tx", 1)]),
        (["hclge-misc-0000:7d:00.0"], None, [(None, None)]),
        (["eth0_rxq0", "eth0_txq3", "hinic_ceq0@pci:0000:3b:00.0"], None,
         [("rx", 0), ("tx", 3), (None, None)]),
        (["idpf-Mailbox-0", "idpf-eth0-TxRx-1", "idpf-eth0-Rx-2"], None,
         [(None, None), ("rxtx", 1), ("rx", 2)]),
        (["eth0-tx-0-rx-3"], None, [("rxtx", 3)]),
        (["gve-ntfy-blk0@pci:0000:00:04.0", "gve-ntfy-blk1@pci:0000:00:04.0",
          "gve-ntfy-blk2@pci:0000:00:04.0", "gve-ntfy-blk3@pci:0000:00:04.0",
          "gve-mgmnt@pci:0000:00:04.0"], None,
         [("tx", 0), ("tx", 1), ("rx", 0), ("rx", 1), (None, None)]),
        (["eth0-fp-2", "eth0 (queue 17)", "eth0-q4", "eth0-q0-rx"], None,
         [("rxtx", 2), ("rxtx", 17), ("rxtx", 4), ("rx", 0)]),
        (["virtio2-input.3", "virtio2-output.3", "virtio2-config", "virtio2-input"], None,
         [("rx", 3), ("tx", 3), (None, None), ("rx", 0)]),
        (["acpi", "nvme0q3", "xhci_hcd", "PCIe PME"], None, [(None, None)] * 4),
    ],
)  # fmt: skip
def test_drivers_names(
    names: list[str], driver: str | None, right: list[tuple[str | None, int | None]]
) -> None:
    found = irqname.places(names, driver)
    assert [(found[name].direction, found[name].number) for name in names] == right


def test_owners_and_shared_lines() -> None:
    assert irqname.queue_of("mlx5_comp0@pci:8b76:00:02.0").owner == "8b76:00:02.0"
    assert irqname.queue_of("i40e-ens1f0-TxRx-3").owner == "ens1f0"
    assert irqname.queue_of("bond-a-rx-3").owner == "bond-a"
    assert irqname.queue_of("hns3-0000:7d:00.0-TxRx-0").owner == "0000:7d:00.0"
    assert irqname.queue_of("eth0_rxq0").owner == "eth0"
    assert irqname.queue_of("eth0:txq3") == irqname.IrqPlace("eth0", "tx", 3)
    assert irqname.queue_of("eth0-tx-0-rx-3").owner == "eth0"
    assert irqname.queue_of("idpf-eth0-TxRx-1").owner == "eth0"
    assert irqname.queue_of("ice-0000:65:00.1:misc").owner == "0000:65:00.1"
    assert irqname.actions("ehci_hcd:usb1, eth0") == ("ehci_hcd:usb1", "eth0")
    assert irqname.actions("") == ()
