"""A host of a few files."""

from nettop.host.recording import Replay


def host(files: dict[str, str]) -> Replay:
    entries = (f"-- {name} --\n{body.removesuffix(chr(10))}\n" for name, body in files.items())
    return Replay("c\n" + "".join(entries))


SNMP = (
    "Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\nTcp: 1 -1 100 200 3\n"
    "Udp: InDatagrams RcvbufErrors\nUdp: 7 2\n"
)
SOCKSTAT = "sockets: used 16\nTCP: inuse 1 orphan 0 tw 44 alloc 2 mem 9\nUDP: inuse 3 mem 141\n"
UDP = (
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout"
    " inode ref pointer drops\n"
    " 1054: 0100007F:0035 00000000:0000 07 00000000:00000D00 00:00000000 00000000   101        0"
    " 26519 2 0000000000000000 297\n"
)
