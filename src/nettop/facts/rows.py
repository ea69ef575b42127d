"""The row classes of the tables that facts are built from. Imported for annotations only."""

from __future__ import annotations

from ..collect.addresses import Row as AddressRow
from ..collect.classes import Row as ClassRow
from ..collect.conntrack import Row as ConntrackRow
from ..collect.drop_reasons import Row as DropReasonRow
from ..collect.features import Row as FeatureRow
from ..collect.fec import Row as FecRow
from ..collect.interrupts import Row as InterruptRow
from ..collect.ipvs import Row as IpvsRow
from ..collect.irqs import Row as IrqRow
from ..collect.kernel import Row as KernelRow
from ..collect.link_stats import Row as LinkStatsRow
from ..collect.links import Row as LinkRow
from ..collect.netclass import Row as NetClassRow
from ..collect.netdev import Row as NetDevRow
from ..collect.nftables import Row as NftablesRow
from ..collect.nicqueues import Row as NicQueueRow
from ..collect.nicstats import Row as NicStatsRow
from ..collect.packet_sockets import Row as PacketSocketRow
from ..collect.pause import Row as PauseRow
from ..collect.pci import Row as PciRow
from ..collect.processes import Row as ProcessRow
from ..collect.qdiscs import Row as QdiscRow
from ..collect.queues import Row as QueueRow
from ..collect.rdma import Row as RdmaRow
from ..collect.routes import Row as RouteRow
from ..collect.rss import Row as RssRow
from ..collect.services import Row as ServiceRow
from ..collect.snmp import Row as SnmpRow
from ..collect.socket_owners import Row as SocketOwnerRow
from ..collect.sockets_tcp import Row as TcpRow
from ..collect.sockets_udp import Row as UdpRow
from ..collect.sockets_unix import Row as UnixRow
from ..collect.sysctl_files import Row as SysctlLineRow
from ..collect.threads import Row as ThreadRow
from ..collect.topology import Row as TopologyRow

__all__ = [
    "AddressRow", "ClassRow", "ConntrackRow", "DropReasonRow", "FeatureRow", "FecRow",
    "InterruptRow", "IpvsRow", "IrqRow", "KernelRow", "LinkRow", "LinkStatsRow", "NetClassRow",
    "NetDevRow", "NftablesRow", "NicQueueRow", "NicStatsRow", "PacketSocketRow", "PauseRow",
    "PciRow", "ProcessRow", "QdiscRow", "QueueRow", "RdmaRow", "RouteRow", "RssRow",
    "ServiceRow", "SnmpRow", "SocketOwnerRow", "SysctlLineRow", "TcpRow", "ThreadRow",
    "TopologyRow", "UdpRow", "UnixRow",
]  # fmt: skip
