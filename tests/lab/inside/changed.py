"""Settings of real drivers that are changed and taken back: setting, value, how it is seen, NIC."""

from lab.inside.kernel import INTEL, VMWARE, affinity, autoneg, merges, mtu, ring, usecs

CHANGES = [
    (f"ring.rx@{INTEL}", "512", ring, INTEL),
    (f"coalesce.rx-usecs@{INTEL}", "50", usecs, INTEL),
    (f"pause.autoneg@{INTEL}", "off", autoneg, INTEL),
    (f"feature.rx-gro@{INTEL}", "off", merges, INTEL),
    (f"link.mtu@{INTEL}", "1400", mtu, INTEL),
    (f"irq.affinity@{INTEL}/rx-0", "5", affinity, INTEL),
    (f"ring.rx@{VMWARE}", "512", ring, VMWARE),
    (f"feature.rx-gro@{VMWARE}", "off", merges, VMWARE),
    (f"link.mtu@{VMWARE}", "1400", mtu, VMWARE),
    (f"irq.affinity@{VMWARE}/rx-0", "3", affinity, VMWARE),
]
