"""An error of a call means what its arguments leave: address, port, size and kind of socket."""

from typing import Any

import pytest
from call_lines import called
from flow_tables import socket
from folded import folded

from nettop.collect import (
    addresses,
    conntrack,
    drop_reasons,
    host_names,
    snmp,
    socket_owners,
    sysctls,
    time_wait,
    tun_readers,
    unresolved,
    ways,
)
from nettop.frame.pairs import entries

TO = "10.60.0.2"
OWN = "10.60.0.1"
NOTHING: dict[str, Any] = dict.fromkeys(snmp.Row.__dataclass_fields__)
RANGE = sysctls.Row("net.ipv4.ip_local_port_range", "40000 40099")


def connected(ports: range, local: str = OWN, **more: Any) -> list[Any]:
    return [socket(port, inode=port, local=local, local_port=port,
                   **{"remote": f"10.60.{port % 50}.2", "remote_port": 80, **more})
            for port in ports]  # fmt: skip


def test_a_bind_that_finds_no_port_names_the_ports_in_use_not_port_0() -> None:
    line = f"bind;tcp; EADDRINUSE 9 7 here {OWN} - app\n"
    held = [time_wait.Row(OWN, TO, 80, 30), time_wait.Row(OWN, "", 0, 80)]
    one = called(line, sysctls=[RANGE], sockets_tcp=connected(range(40000, 40020)), time_wait=held)
    assert one is not None
    assert one.means == f"All 100 local ports of {OWN} are in use"
    assert "20 by open sockets and 80 by connections that this host closed" in one.cause
    assert "IP_BIND_ADDRESS_NO_PORT" in one.advice
    assert "sport = :0" not in one.advice
    one = called(line, sysctls=[RANGE], sockets_tcp=connected(range(40000, 40020)), time_wait=[])
    assert one is not None
    assert one.means == f"No local port of {OWN} is free"
    assert "20 of 100 ports" in one.cause
    assert "IP_LOCAL_PORT_RANGE" in one.cause
    others = connected(range(40000, 40100), local="10.60.0.9")
    one = called(line, sysctls=[RANGE], sockets_tcp=others)
    assert one is not None
    assert "0 of 100" in one.cause
    one = called(line.replace(OWN, "0.0.0.0"), sysctls=[RANGE], sockets_tcp=others)
    assert one is not None
    assert one.means == "All 100 local ports are in use"
    one = called(
        f"bind;udp; EADDRINUSE 9 7 here {OWN} - app\n", sysctls=[RANGE], sockets_tcp=others
    )
    assert one is not None
    assert one.means == f"No local port of {OWN} is free for a datagram socket"
    assert "IP_BIND_ADDRESS_NO_PORT" not in one.advice


def test_a_connect_without_a_port_is_told_by_the_destination_or_by_what_is_bound() -> None:
    line = f"connect EADDRNOTAVAIL 9 7 here {TO} 80 app\n"
    same = connected(range(40000, 40095), remote=TO)
    one = called(line, sysctls=[RANGE], sockets_tcp=same)
    assert one is not None
    assert one.means == f"No local port is free for connections to {TO} port 80"
    assert "95 of 100" in one.cause
    one = called(line, sysctls=[RANGE], sockets_tcp=connected(range(40000, 40100)))
    assert one is not None
    assert one.means == "No local port is free: sockets with a bound port have them"
    one = called(line, sysctls=[RANGE], sockets_tcp=connected(range(40000, 40010)))
    assert one is not None
    assert one.means == "No local port is free for the connection"


def test_a_host_without_an_address_of_ipv6_lacks_no_port() -> None:
    line = "connect EADDRNOTAVAIL 9 7 here {} 80 app\n"
    four = addresses.Row("lo", "127.0.0.1", 8, 4, "host")
    for to in ("::1", "2001:db8::1"):
        one = called(line.format(to), sysctls=[RANGE], addresses=[four])
        assert one is not None
        assert one.means == "The host has no address of IPv6 to connect from"
    own = addresses.Row("lo", "::1", 128, 6, "host")
    one = called(line.format("::1"), sysctls=[RANGE], addresses=[four, own])
    assert one is not None
    assert one.means == "No local port is free for the connection"
    tries = line.format("::1") + "connection 0 9 7 here 127.0.0.1 80 app\n"
    assert called(tries, sysctls=[RANGE], addresses=[four]) is None
    one = called(tries, sysctls=[RANGE], addresses=[four, own])
    assert one is not None
    assert one.means == "No local port is free for the connection"


def test_a_message_of_sctp_must_fit_the_send_buffer() -> None:
    line = f"write;bytes=262144,sctp; EMSGSIZE 5 7 here {TO} 80 app\n"
    one = called(line, sysctls=[sysctls.Row("net.core.wmem_default", "212992")])
    assert one is not None
    assert one.means == (
        "Messages of 262,144 bytes or more exceed the send buffer of the SCTP socket"
    )
    assert "net.core.wmem_default (212992)" in one.cause
    assert one.called == "write with 262144 bytes or more by sctp"


def test_the_holder_of_a_port_is_one_of_the_same_protocol() -> None:
    held = [socket(1, local="0.0.0.0", local_port=8080, remote_port=0, state="listen", inode=5)]
    owners = [socket_owners.Row(5, 9, "web")]
    for protocol, means in (
        ("tcp", "The address and port are in use: web[9] has bound 0.0.0.0:8080"),
        ("", "The address and port are in use: web[9] has bound 0.0.0.0:8080"),
        ("udp", "The address and port are in use"), ("sctp", "The address and port are in use"),
    ):  # fmt: skip
        line = f"bind;{protocol}; EADDRINUSE 5 7 here 0.0.0.0 8080 app\n"
        one = called(line, sockets_tcp=held, socket_owners=owners)
        assert one is not None
        assert one.means == means


def test_a_port_without_a_holder_is_left_of_connections_in_time_wait() -> None:
    line = "bind;{}; EADDRINUSE 5 7 here 0.0.0.0 8080 app\n"
    for protocol, waiting, left in (("tcp", 3, True), ("tcp", 0, False), ("udp", 3, False)):
        counts = [snmp.Row(**{**NOTHING, "time_wait": waiting})]
        one = called(line.format(protocol), sockets_tcp=connected(range(9, 10)), snmp=counts)
        assert one is not None
        assert ("connections in TIME-WAIT hold it" in one.means) is left
        assert ("SO_REUSEADDR" in one.advice) is left


def test_an_option_that_needs_a_privilege_names_the_capability() -> None:
    for option, needs in (
        ("SO_MARK", "CAP_NET_ADMIN or CAP_NET_RAW"),
        ("SO_BINDTODEVICE", "CAP_NET_RAW"), ("SO_RCVBUFFORCE", "CAP_NET_ADMIN"),
    ):  # fmt: skip
        one = called(f"setsockopt;{option}; EPERM 5 7 here - - app\n")
        assert one is not None
        assert f"needs {needs}, which the program lacks" in one.means
        assert "tcp_allowed_congestion_control" not in one.advice
    one = called("setsockopt;TCP_CONGESTION=bbr; EPERM 5 7 here - - app\n")
    assert one is not None
    assert "sysctl net.ipv4.tcp_allowed_congestion_control" in one.advice


HERE = (addresses.Row("eth0", OWN, 24, 4, "global"), addresses.Row("lo", "127.0.0.1", 8, 4, "host"))
FEW = [addresses.Row(to, to, length, 4, "global") for to, length in (
    ("10.70.0.1", 30), ("10.80.0.0", 31),
)]  # fmt: skip
LATE = addresses.Row("eth0", "2001:db8::7", 64, 6, "global", tentative=True)
TWICE = addresses.Row("eth0", "2001:db8::8", 64, 6, "global", tentative=True, duplicate=True)
OTHER = addresses.Row("eth0", "2001:db8::9", 64, 6, "global")
LOCAL = addresses.Row("eth0", "fe80::1", 64, 6, "link")


@folded(("line", "means"), [
    # an address that is here, that is not, that IPv6 checks, that another host has
    (f"bind EADDRNOTAVAIL 9 7 here {OWN} 80 app",
     f"The address {OWN} is on eth0, and yet the socket cannot have it"),
    ("bind EADDRNOTAVAIL 9 7 here 10.60.0.9 80 app",
     "The address 10.60.0.9 to bind is not on this host, though eth0 has its network 10.60.0.0/24"),
    ("bind EADDRNOTAVAIL 9 7 here 10.61.0.9 80 app", "The address to bind is not on this host"),
    ("bind EADDRNOTAVAIL 9 7 here 2001:db8::7 80 app",
     "IPv6 still checks 2001:db8::7 for duplicates: the service starts too soon"),
    ("bind EADDRNOTAVAIL 9 7 here 2001:db8::8 80 app",
     "Another host has the address 2001:db8::8 too: IPv6 does not let it be used"),
    # a port that is reserved, and one that is not
    ("bind EACCES 9 7 here 0.0.0.0 80 app", "The port to bind is reserved"),
    ("bind EACCES 9 7 here 0.0.0.0 8080 app",
     "A security module or a filter forbids to bind port 8080"),
    # an address of one link, and a datagram without a port
    ("connect EINVAL 9 7 here fe80::9 80 app",
     "fe80::9 is of one link, and the program may name no interface"),
    ("bind EINVAL 9 7 here fe80::1 80 app",
     "fe80::1 is of one link, and the program may name no interface"),
    (f"sendto EINVAL 9 7 here {TO} - app",
     f"The datagram to {TO} has no port, or an argument is not valid"),
    (f"sendto EINVAL 9 7 here {TO} 9 app", "The route is a blackhole, or an argument is not valid"),
    # to all hosts of a network
    ("sendto EACCES 9 7 here 10.60.0.255 9 app",
     "10.60.0.255 is a broadcast address, and the socket does not allow that"),
    ("connect EACCES 9 7 here 255.255.255.255 9 app",
     "255.255.255.255 is a broadcast address, and the socket does not allow that"),
    (f"sendto EACCES 9 7 here {TO} 9 app", "Sending to this address is not permitted"),
    ("sendto EACCES 9 7 here 10.70.0.3 9 app",
     "10.70.0.3 is a broadcast address, and the socket does not allow that"),
    ("sendto EACCES 9 7 here 10.80.0.1 9 app", "Sending to this address is not permitted"),
    # to a group
    ("sendto ENETUNREACH 9 7 here 239.1.2.3 9 app",
     "No interface is chosen for the group 239.1.2.3, and no route leads there"),
    (f"sendto ENETUNREACH 9 7 here {TO} 9 app", "No route leads to the destination"),
    # to this host itself
    ("connection ECONNREFUSED 9 7 here 127.0.0.1 80 app",
     "This host itself refused the connection"),
    (f"connection ECONNREFUSED 9 7 here {TO} 80 app", "The other end refused the connection"),
    # Unix sockets
    ("connect EACCES 9 7 here unix - app",
     "The file of the Unix socket may not be opened by this program"),
    ("bind EADDRINUSE 9 7 here unix - app", "The file of the Unix socket exists already"),
    ("bind EACCES 9 7 here unix - app", "The directory of the Unix socket may not be written to"),
    ("connect EAGAIN 9 7 here unix - app", "The backlog of the Unix socket is full"),
    (f"connect EAGAIN 9 7 here {TO} 53 app", "No local port is free for a datagram socket"),
    ("write EMSGSIZE 9 7 here unix - app",
     "The message is larger than the send buffer of the Unix socket"),
    # kinds of socket
    ("socket;AF_INET,SOCK_DGRAM,IPPROTO_ICMP; EACCES 9 7 here - - app",
     "The program may not ping: its group is not in net.ipv4.ping_group_range"),
    ("socket;AF_INET,SOCK_STREAM,0; EACCES 9 7 here - - app",
     "A filter or a security module forbids the program to open a socket"),
    ("socket;AF_INET,SOCK_STREAM,0; EMFILE 9 7 here - - app",
     "The process has no file descriptor left for a socket"),
    ("socket;AF_INET,SOCK_RAW,IPPROTO_ICMP; EPERM 9 7 here - - app",
     "A raw or packet socket needs a privilege"),
])  # fmt: skip
def test_an_error_means_what_its_arguments_leave(line: str, means: str) -> None:
    one = called(f"{line}\n", addresses=[*HERE, *FEW, LATE, TWICE, LOCAL])
    assert one is not None
    assert one.means == means


def test_a_refusal_of_this_host_itself_is_looked_for_here() -> None:
    one = called("connection ECONNREFUSED 9 7 here 10.60.0.1 80 app\n", addresses=[*HERE])
    assert one is not None
    assert one.advice.startswith("On this host, at the address of the call, `ss -lnt`")


def test_a_full_table_of_connections_refuses_to_send() -> None:
    line = f"sendto EPERM 9 7 here {TO} 9 app\n"
    full = "The table of connection tracking is full (4,096 of 4,096)"
    for count, means in ((4000, "A local rule forbids to send"), (4096, full)):
        one = called(line, conntrack=[conntrack.Row(count, 4096)])
        assert one is not None
        assert one.means == means


@folded(("own", "asked", "held"), [
    ("127.0.0.53", "10.60.0.1", False), ("0.0.0.0", "10.60.0.1", True),
    ("10.60.0.1", "10.60.0.1", True), ("127.0.0.53", "0.0.0.0", True), ("::", "10.60.0.1", True),
    ("0.0.0.0", "2001:db8::1", False), ("10.60.0.1", "::", True), ("::1", "0.0.0.0", False),
])  # fmt: skip
def test_a_port_is_held_by_who_has_it_at_the_same_address(
    own: str, asked: str, *, held: bool
) -> None:
    door = socket(1, local=own, local_port=53, remote_port=0, state="listen", inode=5)
    one = called(f"bind;tcp; EADDRINUSE 9 7 here {asked} 53 app\n", sockets_tcp=[door])
    assert one is not None
    assert (" has bound " in one.means) is held


def test_a_host_without_ipv6_is_asked_for_it_by_sound_programs() -> None:
    line = "socket;{},SOCK_STREAM,0; EAFNOSUPPORT 9 7 here - - app\n"
    assert called(line.format("AF_INET6"), addresses=[*HERE]) is None
    for family, rows in (("AF_INET6", [*HERE, OTHER]), ("AF_VSOCK", [*HERE])):
        one = called(line.format(family), addresses=rows)
        assert one is not None
        assert one.means == "The kernel does not offer this family of addresses"
    line = line.replace("0;", "0;seccomp").format("AF_INET6")
    one = called(line, addresses=[*HERE, addresses.Row("lo", "::1", 128, 6, "host")])
    assert one is not None
    assert one.means.endswith("(seccomp) of the program refuses sockets of AF_INET6")
    assert "RestrictAddressFamilies" in one.advice
    one = called(line, addresses=[*HERE])
    assert one is not None
    assert one.means.startswith("A filter of system calls (seccomp) may refuse it, or: the kernel")
    assert called(f"{line}connection 0 9 7 here 10.0.0.9 80 app\n", addresses=[*HERE]) is None


def test_a_call_whose_error_has_no_entry_is_told_by_its_name() -> None:
    one = called("epoll_wait EINVAL 9 7 here - - app\n")
    assert one is not None
    assert (one.means, one.to) == ("A call fails: epoll_wait, EINVAL", "the call has none")
    one = called("poll;nfds=100; EINVAL 9 7 here - - app\n")
    assert one is not None
    assert "RLIMIT_NOFILE" in one.means
    assert "nfds=100" in one.called
    one = called("sendfile EPIPE 9 7 here 10.0.0.9 80 app\n")
    assert one is not None
    assert one.to == "10.0.0.9 port 80"
    assert not one.means.startswith("A call fails")


@pytest.mark.parametrize(("tables", "told"), [
    ({"drop_reasons": []}, True), ({}, False),
    ({"drop_reasons": [], "unresolved": [unresolved.Row("eth0", "10.60.0.9", 4)]}, False),
    ({"drop_reasons": [drop_reasons.Row(
        "NEIGH_FAILED", "neigh_invalidate", "here", "2", "tcp", "9", 5, 3.0, "10.60.0.1", 9, TO, 80)
      ]}, False),
])  # fmt: skip
def test_what_icmp_says_of_a_connection_is_told_apart_from_a_silent_neighbour(
    tables: dict[str, Any], told: bool
) -> None:
    way = ways.Row(TO, "", "", "", 0, "", 0, interface="eth0", gateway="10.60.0.9")
    line = f"connection EHOSTUNREACH 9 7 here {TO} 443 app\n"
    one = called(line, ways=[way], **tables)
    assert one is not None
    assert one.means.startswith("A router or firewall on the way" if told else "The host is")
    assert ("is 10.60.0.9 on eth0" in one.advice) is told
    one = called(line.replace("connection", "connect"), ways=[way], **tables)
    assert one is not None
    assert "on the way" not in one.means


def test_an_attempt_beside_one_that_another_address_answers_is_told_apart() -> None:
    line = f"connection GIVEN_UP 2 7 here {TO} 80 app\n"
    for other, beside in (
        ("", False), ("connection 0 2 7 here 10.60.0.9 80 app\n", True),
        ("connection 0 2 7 here 10.60.0.9 443 app\n", False),
        ("connection 0 2 8 here 10.60.0.9 80 app\n", False),  # another process
        (f"connection 0 2 7 here {TO} 80 app\n", False),  # the same place
    ):  # fmt: skip
        one = called(line + other)
        assert one is not None
        assert one.beside is beside, other


TO6 = "fd60::2"


@folded(("call", "to", "heard", "words"), [
    ("connection ENETUNREACH", TO, 0, "A router or firewall on the way"),
    ("connection ENOPROTOOPT", TO, 0, "A router or firewall on the way"),  # protocol unreachable
    ("connection ENONET", f"::ffff:{TO}", 0, "A router or firewall on the way"),
    ("connection EACCES", TO6, 0, "A router or firewall on the way"),  # prohibited
    ("connection EACCES", TO, 30, "A call fails"),  # IPv4 has no message for it
    ("sendto EHOSTUNREACH", TO, 0, "The destination is unreachable"),  # a route may say so
    ("sendto EHOSTUNREACH", TO, 30, "A router or firewall on the way"),
    ("sendmsg EACCES", TO6, 30, "A router or firewall on the way"),
    ("sendmsg EACCES", TO, 30, "Sending to this address is not permitted"),
    ("connection ECONNREFUSED", TO, 0, "The other end refused the connection:"),
    ("connection ECONNREFUSED", TO, 5, "The other end refused the connection:"),  # of others
    ("connection ECONNREFUSED", TO, 30, "The other end refused the connection, or a firewall"),
])  # fmt: skip
def test_what_icmp_brings_from_afar_names_the_next_hop(
    call: str, to: str, heard: int, words: str
) -> None:
    """Nine calls failed in three seconds; `heard` are the messages of ICMP in that time."""
    came = [snmp.Row(**{**NOTHING, "ip_unreachable": count}) for count in (0, heard)]
    far = to.removeprefix("::ffff:")
    way = ways.Row(far, "", "", "", 0, "", 0, interface="eth0", gateway="10.60.0.9")
    one = called(f"{call} 9 7 here {to} 443 app\n", ways=[way], drop_reasons=[],
                 snmp=entries(came[1:], entries(came[:1], (), 3.0), 3.0))  # fmt: skip
    assert one is not None
    assert f"{one.means}:".startswith(words)
    assert ("is 10.60.0.9 on eth0" in one.advice) is ("firewall" in words)


def test_who_has_the_interface_that_a_program_wants_is_named() -> None:
    behind = [tun_readers.Row("tun1", 8, "other"), tun_readers.Row("tun0", 9, "vpnd")]
    line = "ioctl;TUNSETIFF=tun0; {} 9 7 here - - app\n"
    one = called(line.format("EBUSY"), tun_readers=behind)
    assert one is not None
    assert (one.means, one.to) == ("vpnd[9] has the interface tun0", "the call has none")
    for tables, error, begins in (
        ({"tun_readers": behind[:1]}, "EBUSY", "The interface tun0 is taken by a program"),
        ({}, "EBUSY", "The interface tun0 is taken by a program"),
        ({"tun_readers": behind}, "EPERM", "The program may not take or make the interface tun0"),
    ):
        one = called(line.format(error), **tables)
        assert one is not None
        assert one.means.startswith(begins)
    one = called("openat;/dev/net/tun; ENOENT 9 7 here - - app\n")
    assert one is not None
    assert one.means == "The device /dev/net/tun is not there"


def test_a_destination_that_the_file_hosts_names_is_told_with_the_line() -> None:
    line = f"connection ECONNREFUSED 90 7 here {TO} 80 app\n"
    one = called(line, host_names=[host_names.Row(TO, 0, "/etc/hosts", ("db.test", "db", "x"))])
    assert one is not None
    assert one.advice.endswith(
        f"/etc/hosts gives {TO} the names db.test, db and 1 more. If that line of /etc/hosts is "
        "old, correct or delete it: `dig +short db.test` asks the name server."
    )
    plain = called(line, host_names=[])
    assert plain is not None
    assert "/etc/hosts" not in plain.advice
