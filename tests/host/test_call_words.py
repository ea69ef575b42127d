"""The argument of a failed call in a word, and the numbers of calls."""

import errno

import pytest
from folded import folded

from nettop.collect import _descriptors
from nettop.host.bpf import arguments, interfaces, names


@folded(("call", "error", "halves", "name", "word"), [
    # level, number and length of an option; type, flags and protocol of a socket
    ("setsockopt", errno.ENOENT, (6, 13, 5), b"bogus!", "TCP_CONGESTION=bogus"),
    ("setsockopt", errno.ENOENT, (6, 31, 16), b"t s\0x", "TCP_ULP=t?s"),
    ("setsockopt", errno.ENODEV, (1, 25, 4), b"eth9", "SO_BINDTODEVICE"),
    ("setsockopt", errno.ENODEV, (0, 42, 0), b"", "MCAST_JOIN_GROUP"),
    ("setsockopt", errno.ENODEV, (0, 39, 0), b"", "IP_ADD_SOURCE_MEMBERSHIP"),
    ("setsockopt", errno.ENOBUFS, (0, 41, 0), b"", "IP_MSFILTER"),
    ("setsockopt", errno.ENOBUFS, (0, 46, 0), b"", "MCAST_JOIN_SOURCE_GROUP"),
    ("setsockopt", errno.ENOBUFS, (0, 48, 0), b"", "MCAST_MSFILTER"),
    ("setsockopt", errno.EINVAL, (41, 16, 4), b"", "IPV6_UNICAST_HOPS"),
    ("setsockopt", errno.EINVAL, (99, 7, 4), b"", "99/7"),
    ("socket", errno.EACCES, (2, 0x803, 1), b"", "AF_INET,SOCK_RAW,IPPROTO_ICMP"),
    # a control message, of this level and type
    ("sendmsg", errno.EINVAL, (1, 1, 0), b"", "SCM_RIGHTS"),
    ("sendmmsg", errno.EINVAL, (1, 2, 0), b"", "SCM_CREDENTIALS"),
    ("sendmsg", errno.EINVAL, (0, 2, 0), b"", "IP_TTL"),
    ("sendmsg", errno.EINVAL, (17, 103, 0), b"", "UDP_SEGMENT"),
    ("sendmsg", errno.EINVAL, (0, 0, 0), b"", ""),
    ("sendto", errno.EOPNOTSUPP, (0, 0x2000, 0), b"", "MSG_FASTOPEN"),
    ("sendto", errno.EOPNOTSUPP, (0, 0x4000, 0), b"", ""),
    # a device, a range of ports, a time, the size of a message and its protocol
    ("sendto", errno.ENXIO, (4, 0, 0), b"", "ifindex=4"),
    ("connect", errno.EADDRNOTAVAIL, (4000, 4009, 0), b"", "IP_LOCAL_PORT_RANGE=4000-4009"),
    ("connect", errno.EADDRNOTAVAIL, (0, 0, 0), b"", ""),
    ("sendto", errno.ETIMEDOUT, (30000, 0, 0), b"", "TCP_USER_TIMEOUT=30000"),
    ("sendto", errno.EMSGSIZE, (0, 4, 132), b"", "bytes=262144,sctp"),
    ("sendto", errno.EMSGSIZE, (0, 4, 17), b"", "bytes=262144"),
    ("bind", errno.EADDRINUSE, (0, 0, 6), b"", "tcp"),
    ("listen", errno.EADDRINUSE, (0, 0, 6), b"", "tcp"),
])  # fmt: skip
def test_the_argument_of_a_call_is_a_word(
    call: str, error: int, halves: tuple[int, int, int], name: bytes, word: str
) -> None:
    low, high, rest = halves
    argument = low | high << 16 | rest << 32
    assert arguments.words(call, error, argument, name, local=False) == word


@folded(("command", "name", "word"), [
    (0x400454CA, b"tun0\0rest", "TUNSETIFF=tun0"), (0x400454CA, b"t n\0", "TUNSETIFF=t?n"),
    (0x400454CA, b"", "TUNSETIFF"),  # the kernel is to choose a name
    (0x8914, b"a-name-of-15-by\0", "SIOCSIFFLAGS=a-name-of-15-by"), (0x890B, b"abc", "SIOCADDRT"),
    (0, b"/dev/net/tun\0", "/dev/net/tun"), (0, b"/dev/vhost-net\0", "/dev/vhost-net"),
    (0, b"/dev/net/other\0", None), (0, b"/dev/vhost-vsock", None),
])  # fmt: skip
def test_an_interface_and_a_device_are_told_by_name(
    command: int, name: bytes, word: str | None
) -> None:
    call = "ioctl" if command else "openat"
    given = name.ljust(16, b"\0")
    assert names.Names().argument(call, errno.EPERM, 7, 0, command, given) == word
    assert interfaces.words(command, given) == word


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_a_call_that_waits_has_the_number_of_one_that_fails(column: int, machine: str) -> None:
    waits = {call.name: number for number, call in _descriptors.TABLES[machine].items()}
    fails = {name: numbers[column] for name, numbers in names.SYSTEM_CALLS.items()}
    both = waits.keys() & fails.keys()
    assert len(both) > 12
    assert {name: waits[name] for name in both} == {name: fails[name] for name in both}
