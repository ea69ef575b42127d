"""Scrubbing: nothing of the host's identity is left, and what belonged together still does."""

import base64
import ipaddress
import struct

from hypothesis import given
from hypothesis import strategies as st

from nettop.recording import Replay
from nettop.scrub import Names, scrub

KEY = b"k" * 32


def common(a: bytes, b: bytes) -> int:
    x, y = (int.from_bytes(v, "big") for v in (a, b))
    return len(a) * 8 - (x ^ y).bit_length()


@given(st.binary(min_size=4, max_size=4), st.binary(min_size=4, max_size=4))
def test_addresses_keep_their_common_prefix(a: bytes, b: bytes) -> None:
    names = Names(KEY, [])
    if min(a[0], b[0]) in (0, 127) or max(a[0], b[0]) >= 224 or a[3] == 0 or b[3] == 0:
        return
    assert common(names.address(a), names.address(b)) == common(a, b)


def archive() -> str:
    message = struct.pack("=IHHII", 16 + 16 + 12 + 8, 16, 0, 1, 0) + bytes(16)
    message += struct.pack("=HH", 10, 1) + bytes.fromhex("525400123456") + b"\0\0"
    message += struct.pack("=HH", 8, 3) + b"eth\0"
    diag = struct.pack("=IHHII", 16 + 72, 20, 0, 1, 0) + struct.pack(
        "=BBBBHH16s16s32s", 2, 1, 0, 0, 1, 2, bytes([10, 1, 2, 3]), bytes([10, 1, 2, 9]), bytes(32)
    )
    return "\n".join(
        [
            "Recorded on build7.",
            "-- /proc/sys/kernel/hostname --",
            "build7.example.org",
            "-- /proc/net/arp --",
            "10.1.2.3 0x1 0x2 52:54:00:12:34:56 * eth0 fe80::5054:ff:fe12:3456 build7",
            "-- /proc/net/udp --",
            " 5: 0302010A:0035 00000000:0000 07",
            "-- /proc/cmdline --",
            "root=UUID=abc intel_iommu=on secret=1",
            "-- netlink/route/links --",
            base64.b64encode(message).decode(),
            "-- netlink/sock_diag/tcp4 --",
            base64.b64encode(diag).decode(),
            "",
        ]
    )


def test_nothing_of_the_host_is_left_and_it_still_joins() -> None:
    clean = scrub(archive(), KEY)
    for word in ("build7", "52:54:00:12:34:56", "10.1.2.3", "5054", "0302010A", "UUID", "secret"):
        assert word not in clean, word
    replay = Replay(clean)
    assert replay.text("/proc/cmdline").split()[1] == "intel_iommu=on"
    arp = replay.text("/proc/net/arp").split()
    diag = base64.b64decode(replay._body("netlink/sock_diag/tcp4"))
    there = ipaddress.ip_address(diag[24:28])
    assert str(there) == arp[0]
    assert common(diag[24:28], diag[40:44]) == common(bytes([10, 1, 2, 3]), bytes([10, 1, 2, 9]))
    assert bytes.fromhex(arp[3].replace(":", "")) in base64.b64decode(
        replay._body("netlink/route/links")
    )
    hexed = bytes.fromhex(replay.text("/proc/net/udp").split()[1].split(":")[0])
    assert hexed[::-1] == diag[24:28]


def test_versions_and_counters_stay() -> None:
    text = "c\n-- /proc/interrupts --\n 12: 1.2.3.4\n-- /proc/version --\n6.1.0-56\n"
    assert scrub(text, KEY) == text
