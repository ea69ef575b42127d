"""Types of the options and messages of the helper programs, for type checkers only.

The programs import this module only under TYPE_CHECKING: Python 3.6 has no TypedDict.
`nettop.trials.messages` checks the messages when they arrive.
"""

from typing import Mapping, Optional, Sequence, Tuple, TypedDict


class UdpStep(TypedDict, total=False):
    """One step of `udp_source`: `count` paced datagrams, or a flood of so many `seconds`."""

    size: int  # payload bytes
    count: int
    spacing: float  # seconds between datagrams
    seconds: float
    rate: float  # datagrams per second; 0: unlimited


class HelperOptions(TypedDict, total=False):
    """The options of all programs; `main` of each program names those that it reads."""

    argv: Sequence[str]
    cpus: Sequence[int]  # run on these CPUs only; empty: on all
    at: str  # address to listen on
    of: str  # address of the other end
    token: str  # hexadecimal
    port: Optional[int]
    wait: bool
    to: str  # address to connect to
    v6: bool
    streams: int
    pours: int
    seconds: float
    length: Optional[int]  # bytes per write
    window: Optional[int]  # socket buffer, bytes
    mss: Optional[int]
    congestion: Optional[str]
    rate: Optional[float]  # bit/s
    zero_copy: bool
    busy_poll: Optional[int]  # µs
    segments: int  # datagrams of one send call
    interface: str
    ring: int  # bytes
    deaf: bool
    file: Optional[str]  # that the sender reads
    into: Optional[str]  # folder into which the receiver writes
    points: Sequence[UdpStep]
    pause: float  # seconds between points
    sizes: Sequence[int]
    count: Optional[int]
    interval: float  # seconds between samples
    mac: str
    size: int
    cpu: int


class LinkState(TypedDict, total=False):
    """What sysfs shows of an interface; values that it does not show are left out."""

    mtu: int
    speed: int  # Mbit/s
    driver: str
    subsystem: str


class Message(TypedDict, total=False):
    """The fields of all messages. `messages` lists which fields form a message of a program."""

    error: str  # why the program cannot do its work
    absent: str  # a program that is not installed
    arrived: float  # when nettop received the message, monotonic seconds; set by nettop
    port: int
    pid: int
    room: int  # bytes of the receive buffer
    # program
    out: str
    err: str
    exit: int
    # bulk: one second of a transfer, then the totals
    start: float
    seconds: float
    received: int
    retransmits: int
    states: Sequence[Mapping[str, int]]
    total: int
    poured: int
    lasted: float
    zero_copied: int  # completed sends with MSG_ZEROCOPY
    copied: int  # of them, those that the kernel copied
    # udp_source, udp_sink
    point: int
    size: int
    sent: int
    reordered: int
    busy: float  # percent of the busiest core
    gaps: Sequence[Tuple[int, int]]  # bins of 0.5 µs and their counts
    # udp_latency
    requests: int
    lost: int
    histogram: Sequence[Tuple[int, int]]  # bins of 0.1 µs and their counts
    stamped: Sequence[float]  # µs until the kernel's receive time stamp, sorted
    copying: float  # seconds to copy one byte in memory
    # capture
    capturing: str
    packets: int
    bytes: int
    seen: int
    dropped: int
    frozen: int
    # sample: the host once, then one sample per interval
    links: Mapping[str, LinkState]
    kernel: str
    host: str
    at: float
    cores: Mapping[str, Sequence[int]]
    interfaces: Mapping[str, Sequence[int]]
    softnet: Sequence[Sequence[int]]
    totals: Mapping[str, int]
    interrupts: Sequence[int]
    # neighbour, pktgen
    walking: int
    running: str
    result: str
