"""Faults that one end of a connection sees, of radios, and of TLS in the kernel."""

from random import Random

from generated.model import Flow, Host
from generated.sound import wireless_text


def radio(host: Host, draw: Random) -> None:
    """The radio gives up frames after all tries: far away, or on a full channel."""
    level = draw.choice((draw.randrange(-90, -75), draw.randrange(-65, -40)))
    host.counted["/proc/net/wireless"] = wireless_text(level), draw.uniform(3, 90)


def tls(host: Host, draw: Random) -> None:
    """Records cannot be decrypted, or the card loses their boundary again and again."""
    device = draw.random() < 0.5
    counts = {"TlsCurrTxSw": "3", "TlsCurrRxSw": "0" if device else "3", "TlsCurrTxDevice": "0",
              "TlsCurrRxDevice": "5" if device else "0", "TlsTxSw": "900", "TlsRxSw": "800",
              "TlsTxDevice": "0", "TlsRxDevice": "90" if device else "0",
              "TlsDecryptError": "0" if device else "{0}",
              "TlsRxDeviceResync": "{0}" if device else "0", "TlsDecryptRetry": "0",
              "TlsRxNoPadViolation": "0"}  # fmt: skip
    text = "".join(f"{name:<24}\t{value}\n" for name, value in counts.items())
    rate = draw.uniform(200, 4000) if device else draw.uniform(1, 30)
    host.counted["/proc/net/tls_stat"] = text, rate


def gaps(host: Host, draw: Random) -> None:
    """One segment of fifty is lost before it arrives, and those behind it wait."""
    flow = _connection(host, draw.randrange(8_000, 90_000))
    flow.rx, flow.tx, flow.rcvbuf = draw.uniform(1e6, 2e7), 100.0, 6291456
    flow.gaps = flow.rx / flow.mss * draw.uniform(0.05, 0.3)


def answer_lost(host: Host, draw: Random) -> None:
    """The head of an answer arrived and its last part; the large segments between never do."""
    flow = _connection(host, draw.randrange(5_000, 90_000))
    flow.tx = flow.rx = 0.0
    flow.received, flow.behind = draw.randrange(90, 4000), 2304 * draw.randrange(1, 5)


def two_parts(host: Host, draw: Random) -> None:
    """A client writes header and body apart, and this end delays its acknowledgement by 40 ms."""
    rate = draw.uniform(10, 22)
    flow = _connection(host, draw.randrange(40, 900))
    flow.segment = 150
    flow.rx, flow.tx = 2 * rate * flow.segment, rate * flow.segment
    host.snmp["TcpExt.DelayedACKs"] = rate


def small_writes(host: Host, draw: Random) -> None:
    """A program writes header and body apart, and the other end delays its acknowledgement."""
    flow = _connection(host, 41_000)
    flow.min_rtt, flow.tx, flow.rx, flow.busy = draw.randrange(40, 2000), 9e3, 4e3, 0.95
    flow.notsent = draw.randrange(50, 900)
    flow.send_q = flow.notsent + draw.randrange(50, 400)


def peer_window(host: Host, draw: Random) -> None:
    """The other end offers a window below what the path needs."""
    flow = _connection(host, draw.randrange(5_000, 90_000))
    flow.tx, flow.rx, flow.busy = 65535 / (flow.rtt / 1e6), 900.0, 0.98
    flow.rwnd_limited, flow.send_q, flow.notsent = draw.uniform(0.5, 0.95), 500_000, 400_000
    flow.sndbuf, flow.app_limited = 2_500_000, False


def queue_delay(host: Host, draw: Random) -> None:
    """The flow keeps the buffer before a slow hop full."""
    flow = _connection(host, draw.randrange(2_000, 30_000))
    flow.rtt = flow.min_rtt + draw.randrange(120_000, 900_000)
    flow.tx, flow.rx, flow.busy, flow.app_limited = draw.uniform(2e5, 2e6), 900.0, 0.99, False
    flow.cwnd = max(20, round(flow.tx * flow.rtt / 1e6 / flow.mss))
    flow.send_q, flow.notsent = flow.cwnd * flow.mss + 300_000, 300_000
    flow.sndbuf = 4 * flow.send_q


def queue_before_us(host: Host, draw: Random) -> None:
    """The sender keeps the buffer before the last slow hop of a download full."""
    flow = _connection(host, draw.randrange(200, 30_000))
    flow.rcv_rtt = flow.min_rtt + draw.randrange(120_000, 900_000)
    flow.rx, flow.tx = draw.uniform(2e6, 2e7), 0.0
    flow.recv_q, flow.rcvbuf = draw.randrange(0, 3000), 6291456


def small_segments(host: Host, draw: Random) -> None:
    """A route, the peer or a forged message made the segments of an upload small."""
    flow = _connection(host, draw.randrange(300, 30_000))
    flow.mss, flow.rx, flow.busy, flow.app_limited = draw.randrange(500, 900), 900.0, 0.98, False
    flow.tx = max(2e6, 0.02 * (host.main.speed or 1000) * 1e6 / 8)
    flow.cwnd = max(40, round(flow.tx * flow.rtt / 1e6 / flow.mss))
    flow.send_q = flow.cwnd * flow.mss


def refused(host: Host, draw: Random) -> None:
    """A client tries a port again and again on which nobody listens."""
    rate = draw.uniform(30, 900)
    host.snmp |= {"Tcp.ActiveOpens": rate * draw.uniform(1.0, 1.3), "Tcp.AttemptFails": rate}


def copied(host: Host, draw: Random) -> None:
    """The path copies one packet of ten, and this end tells the sender of each copy."""
    segments = draw.uniform(2e3, 8e4)
    name = draw.choice(("TCPDSACKOldSent", "TCPDSACKOfoSent"))
    host.snmp |= {"Tcp.InSegs": segments, f"TcpExt.{name}": segments * draw.uniform(0.03, 0.2)}


def each_anew(host: Host, draw: Random) -> None:
    """The workers of a program open a connection for each request to a distant server."""
    trip = draw.randrange(12_000, 90_000)
    for number in range(draw.randrange(6, 20)):
        flow = _connection(host, trip)
        flow.local_port += number
        flow.brief, flow.tx, flow.rx = True, 600.0, 9000.0
    host.snmp["Tcp.ActiveOpens"] = draw.uniform(60, 900)


def _connection(host: Host, trip: int) -> Flow:
    """A connection of the first program that has sockets, with this round trip in us."""
    process = next(one for one in host.processes if one.inodes)
    process.inodes.append(98000)
    flow = Flow("198.51.100.9", 50100, 443, rtt=trip + 100, min_rtt=trip, pid=process.pid,
                inode=98000)  # fmt: skip
    host.flows.append(flow)
    return flow
