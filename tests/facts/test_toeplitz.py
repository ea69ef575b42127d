"""The hash against Microsoft's published verification suite, and what follows from it."""

from folded import folded
from hypothesis import given
from hypothesis import strategies as st

from nettop.facts.toeplitz import Packet, hashed, key_bytes, queue_of, symmetric, toeplitz

KEY = key_bytes(
    "6d:5a:56:da:25:5b:0e:c2:41:67:25:3d:43:a3:8f:b0:d0:ca:2b:cb:ae:7b:30:b4:77:cb:2d:a3:80:30:f2:0c"
    ":6a:42:b7:3b:be:ac:01:fa"
)
TWO_BYTES = bytes.fromhex("6d5a" * 20)
TABLE = tuple(n % 4 for n in range(128))

VECTORS = [
    ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323E8FC2, 0x51CCC178),
    ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xD718262A, 0xC626B0EA),
    ("24.19.198.95", 12898, "12.22.207.184", 38024, 0xD2D0A5DE, 0x5C2B394A),
    ("38.27.205.30", 48228, "209.142.163.6", 2217, 0x82989176, 0xAFC7327F),
    ("153.39.163.191", 44251, "202.188.127.2", 1303, 0x5D1809C5, 0x10E828A2),
    ("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2CC18CD5, 0x40207D3D),
    ("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0F0C461C, 0xDDE51BBF),
    (
        "3ffe:1900:4545:3:200:f8ff:fe21:67cf",
        44251,
        "fe80::200:f8ff:fe21:67cf",
        38024,
        0x4B61E985,
        0x02D1FEEF,
    ),
]


@folded(("source", "sport", "to", "dport", "by_address", "by_port"), VECTORS)
def test_published_vectors(
    source: str, sport: int, to: str, dport: int, by_address: int, by_port: int
) -> None:
    packet = Packet(source, to, sport, dport)
    addresses, ports = hashed(packet, "sd"), hashed(packet, "sdfn")
    assert addresses is not None
    assert ports is not None
    assert toeplitz(KEY, addresses) == by_address
    assert toeplitz(KEY, ports) == by_port


def test_mapped_addresses_are_ipv4_on_the_wire() -> None:
    plain = Packet("66.9.149.187", "161.142.100.80", 2794, 1766)
    mapped = Packet("::ffff:66.9.149.187", "::ffff:161.142.100.80", 2794, 1766)
    assert hashed(plain, "sdfn") == hashed(mapped, "sdfn")


@folded(
    ("function", "fields", "table", "key"),
    [
        ("xor", "sdfn", TABLE, KEY),
        ("crc32", "sdfn", TABLE, KEY),
        ("toeplitz", "fn", TABLE, KEY),
        ("toeplitz", "", TABLE, KEY),
        ("toeplitz", "sdfn", (), KEY),
        ("toeplitz", "sdfn", TABLE, KEY[:12]),
        ("toeplitz", "sdfn", TABLE, b""),
    ],
)
def test_what_cannot_be_computed_is_none(
    function: str, fields: str, table: tuple[int, ...], key: bytes
) -> None:
    packet = Packet("66.9.149.187", "161.142.100.80", 2794, 1766)
    assert queue_of(key, table, function, fields, packet) is None


def test_odd_addresses_are_none() -> None:
    assert queue_of(KEY, TABLE, "toeplitz", "sdfn", Packet("*", "1.2.3.4", 1, 2)) is None
    assert queue_of(KEY, TABLE, "toeplitz", "sdfn", Packet("1.2.3.4", "::1", 1, 2)) is None
    assert queue_of(KEY, TABLE, "toeplitz", "sdfn", Packet("1.2.3.4", "1.2.3.4", 1, 70000)) is None
    unknown = Packet("1.2.3.4", "1.2.3.4", 1, 2)
    assert queue_of(KEY, TABLE, "toeplitz", "sdfn", unknown, "no such transform") is None


def test_which_keys_are_symmetric() -> None:
    assert symmetric(TWO_BYTES)
    assert symmetric(TWO_BYTES + b"\x6d\x5a" * 6)
    assert not symmetric(KEY)
    assert not symmetric(TWO_BYTES[:20] + b"\x00" + TWO_BYTES[21:])
    assert not symmetric(b"")


packets = st.builds(
    Packet,
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=4).map(str),
    st.integers(0, 65535),
    st.integers(0, 65535),
)


def back(packet: Packet) -> Packet:
    return Packet(packet.destination, packet.source, packet.destination_port, packet.source_port)


@given(packets, st.sampled_from(["symmetric-xor", "symmetric-or-xor"]))
def test_a_symmetric_transform_does_so_with_any_key(packet: Packet, transform: str) -> None:
    ways = [queue_of(KEY, TABLE, "toeplitz", "sdfn", p, transform) for p in (packet, back(packet))]
    assert ways[0] == ways[1] is not None
