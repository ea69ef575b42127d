"""What is known beyond the error of a call: arguments, readers, rules, filters and programs."""

from dataclasses import replace
from typing import Any

from call_lines import called
from flow_tables import socket

from nettop.collect import (
    addresses,
    drop_reasons,
    fib,
    links,
    nftables,
    routing_rules,
    snmp,
    socket_owners,
    sockets_unix,
    sysctls,
    ways,
)
from nettop.frame.pairs import entries

TO = "10.60.0.2"


def link(index: int, name: str, mtu: int) -> links.Row:
    flags: Any = {"loopback": name == "lo", "up": True, "running": True, "promisc": False}
    return links.Row(name, index, type=1, kind="", mtu=mtu, **flags)


def test_datagrams_that_all_come_back_fail_at_their_reader() -> None:
    line = "sendto;peer=8213,/dev/log; EAGAIN 40 7 here unix - app\n"
    owners = [socket_owners.Row(8213, 640, "syslogd")]
    one = called(line, socket_owners=owners, sysctls=[sysctls.Row("net.unix.max_dgram_qlen", "10")])
    assert one is not None
    of = "/dev/log of syslogd[640]"
    assert one.means == f"The queue of Unix socket {of} is full (net.unix.max_dgram_qlen: 10)"
    assert (one.share, one.to, one.called) == (1.0, "/dev/log", "sendto")
    assert one.by == ("640",)
    assert "max_dgram_qlen (10)" in one.cause
    assert "nettop why 640" in one.advice


def test_the_value_of_a_setting_that_decides_stands_beside_its_name() -> None:
    line, name = "setsockopt;{}; ENOBUFS 9 7 here - - app\n", "net.ipv4.igmp_max_memberships"
    read = [sysctls.Row(name, "3"), sysctls.Row("net.ipv4.igmp_max_msf", "10")]
    one = called(line.format("IP_ADD_MEMBERSHIP"), sysctls=read)
    assert one is not None
    assert one.advice.startswith(f"The most of one socket is {name} (3): raise it")
    assert f"`sysctl -w {name}=NUMBER`" in one.advice
    one = called(line.format("IP_ADD_SOURCE_MEMBERSHIP"), sysctls=read)
    assert one is not None
    assert one.means.endswith("sources of a group (net.ipv4.igmp_max_msf)")
    assert one.advice.startswith("The most sources of one group are net.ipv4.igmp_max_msf (10)")
    one = called(line.format("41/46"), sysctls=read)
    assert one is not None
    assert f"{name} (3) allows" in one.cause


def test_a_program_whose_datagrams_come_back_at_times_sends_well() -> None:
    line = "sendto EAGAIN 40 7 here 10.0.0.9 53 app\n"
    assert called(line + "sendto 0 100 7 here 10.0.0.9 53 app\n") is None
    one = called(line)
    assert one is not None
    assert one.means == "No datagram can be sent: the send buffer stays full"


def test_no_buffer_is_no_full_queue_where_nothing_was_dropped() -> None:
    line = f"{{}} ENOBUFS 9 7 here {TO} 53 app\n"
    one = called(line.format("sendmsg"), drop_reasons=[], sysctls=[])
    assert one is not None
    assert one.means == "The control data of a message may exceed net.core.optmem_max"
    full = drop_reasons.Row("QDISC_DROP", "p", "here", "", "udp", "", 9)
    one = called(line.format("sendmsg"), drop_reasons=[full])
    assert one is not None
    assert one.means == "The queue of the interface was full"
    freed = drop_reasons.Row("NOT_SPECIFIED", "msg_zerocopy_realloc", "here", "", "tcp", "", 9)
    one = called(line.format("sendto"), drop_reasons=[freed])
    assert one is not None
    assert "locked memory" in one.means


def test_a_unix_socket_meets_no_packet_filter() -> None:
    one = called("sendto;peer=8213,/run/hub; EPERM 9 7 here unix - app\n")
    assert one is not None
    assert one.means == "The receiver of the Unix datagrams is connected to another socket"


def test_a_datagram_that_finds_no_port_does_not_wait_for_room() -> None:
    line = f"sendto EAGAIN 40 7 here {TO} 53 app\n"
    ports = [sysctls.Row("net.ipv4.ip_local_port_range", "40000 40001")]
    held = [socket(one, local_port=40000 + one) for one in (0, 1)]
    one = called(line, sysctls=ports, sockets_udp=held)
    assert one is not None
    assert one.means == "All 2 local ports of datagram sockets are in use"
    one = called(line, sysctls=ports, sockets_udp=held[:1])
    assert one is not None
    assert one.means == "No datagram can be sent: the send buffer stays full"


def test_a_connection_finds_no_port_though_most_are_free_or_none_may_be_chosen() -> None:
    line, closed = f"connect EADDRNOTAVAIL 9 7 here {TO} 80 app\n", snmp.row({"TCP.tw": 2})
    ports = [sysctls.Row("net.ipv4.ip_local_port_range", "40000 40099")]
    one = called(line, sysctls=ports, snmp=[closed], sockets_tcp=[])
    assert one is not None
    assert one.means.endswith(f"the program binds has a connection to {TO} port 80 already")
    ports.append(sysctls.Row("net.ipv4.ip_local_reserved_ports", "40000-40099"))
    one = called(line, sysctls=ports, snmp=[closed], sockets_tcp=[])
    assert one is not None
    assert "reserves each port" in one.means


def test_a_route_that_others_use_is_not_missing() -> None:
    line = f"connect ENETUNREACH 9 7 here {TO} 443 app\n"
    one = called(line, ways=[ways.Row(TO, "", "", "", 0, "", 0, interface="eth0")])
    assert one is not None
    assert one.means == f"A route leads to {TO}, but perhaps not for this socket"
    way = ways.Row(TO, "", "", "", 0, "", 0, interface="eth0")
    by_port = routing_rules.Row(4, 900, 0, "lookup", 77, protocol="tcp", ports=(443, 443))
    failed = f"connection EHOSTUNREACH 9 7 here {TO} 443 app\n"
    other = f"connection OPENED 9 8 here {TO} 80 web\n"
    one = called(failed + other, ways=[way], routing_rules=[by_port])
    assert one is not None
    assert "perhaps not for this socket" not in one.means  # the rule leads this port elsewhere
    one = called(line, ways=[ways.Row(TO, "", "", "", 0, "", 0, error="ENETUNREACH")])
    assert one is not None
    assert one.means == "No route leads to the address to connect to"


def test_what_the_program_gave_is_named() -> None:
    one = called("setsockopt;TCP_CONGESTION=vegas; ENOENT 5 7 here - - app\n")
    assert one is not None
    assert (one.called, one.to) == ("setsockopt TCP_CONGESTION=vegas", "the call has none")
    assert one.advice.startswith("`modprobe tcp_vegas` loads it")
    one = called(f"sendto;MSG_FASTOPEN; EOPNOTSUPP 5 7 here {TO} 80 app\n")
    assert one is not None
    assert one.means == "TCP fast open is off for programs that connect"
    one = called(f"sendmsg;IP_TTL; EINVAL 5 7 here {TO} 80 app\n")
    assert one is not None
    assert "control message IP_TTL" in one.cause
    assert one.to == f"{TO} port 80"
    one = called("recvfrom ECONNRESET 5 7 here - - app\n")
    assert one is not None
    assert one.to == "not known"


def test_a_message_that_udp_could_send_in_fragments_may_have_none() -> None:
    line = f"sendto;bytes=1920; EMSGSIZE 5 7 here {TO} 80 app\n"
    one = called(line, links=[link(2, "v0", 1500), link(1, "lo", 65536)])
    assert one is not None
    assert one.means.endswith("exceed the MTU, and the program forbids fragments (v0 1500)")
    one = called(line.replace("1920", "69888"))
    assert one is not None
    assert one.means == "Messages of 69,888 bytes or more are longer than a datagram can be"


def test_what_may_have_refused_it_is_named() -> None:
    one = called(f"connect;;w60noconn@/w60 EPERM 5 7 here {TO} 80 app\n")
    assert one is not None
    assert one.means == "BPF program w60noconn of control group /w60 may refuse it"
    one = called(f"sendto;;sd_fw_egress@/system.slice/a.service EPERM 5 7 here {TO} 80 app\n")
    assert one is not None
    assert one.means == "IPAddressDeny= of a.service (sd_fw_egress) may refuse it"
    assert "`systemctl show -p IPAddressDeny a.service`" in one.advice
    one = called(f"connect;;seccomp EACCES 5 7 here {TO} 80 app\n")
    assert one is not None
    assert one.means.startswith("A filter of system calls (seccomp) may refuse it, or: a route")
    assert "grep Seccomp /proc/7/status" in one.advice


def test_a_send_that_the_packet_filter_forbids_names_the_rule_if_it_dropped_there() -> None:
    rule = nftables.Row("ip", "out", "OUT", "2", hook="output")
    drop = drop_reasons.Row("NETFILTER_DROP", "nft_do_chain", "here", "", "udp", "9", 5, 3.0,
                            "10.60.0.1", 9, TO, 80)  # fmt: skip
    line = f"sendto EPERM 5 7 here {TO} 80 app\n"
    one = called(line, drop_reasons=[drop], nftables=[rule])
    assert one is not None
    assert one.by == (rule.name,)
    assert one.means == f"A rule of the packet filter forbids to send ({rule.told})"
    assert one.advice.startswith("`nft -a list chain ip out OUT` shows it")
    old, hook = replace(rule, family="iptables"), replace(drop, place="nf_hook_slow")
    one = called(line, drop_reasons=[hook], nftables=[old])
    assert one is not None
    assert one.advice.startswith("`iptables-legacy -t out -nvL OUT --line-numbers` shows it")
    one = called(line.replace(" 80 ", " 81 "), drop_reasons=[drop], nftables=[rule])
    assert one is not None
    assert (one.by, one.means) == ((), "A local rule forbids to send")


def test_a_send_that_a_program_of_the_route_drops_names_it() -> None:
    route = fib.Row(4, 254, f"{TO}/32", 0, 0, "unicast", "eth0", programs="acl at xmit")
    drop = drop_reasons.Row("NOT_SPECIFIED", "run_lwt_bpf", "here", "", "udp", "9", 5, 3.0,
                            "10.60.0.1", 9, TO, 80)  # fmt: skip
    line = f"sendto EPERM 5 7 here {TO} 80 app\n"
    one = called(line, drop_reasons=[drop], fib=[route])
    assert one is not None
    assert one.means == (f"BPF program acl at xmit of route {TO}/32 forbids to send (encap bpf)")
    one = called(line, fib=[route])
    assert one is not None
    assert one.means == "A local rule forbids to send"


def test_datagrams_that_icmp_answers_are_of_a_program_that_asks_one_port_again() -> None:
    one = called(f"datagram ECONNREFUSED 5 0 here {TO} 53 a program\n")
    assert one is not None
    assert one.means == f"No name server answers at {TO}: nothing reads its port 53"
    assert (one.who, one.to) == ("a program", f"{TO} port 53")
    probes = "".join(
        f"datagram ECONNREFUSED 1 0 here {TO} {port} a program\n" for port in range(33434, 33464)
    )
    assert called(probes) is None
    tools = [f"datagram ECONNREFUSED 1 {pid} here {TO} 53 curl\n" for pid in (5, 6, 7)]
    one = called("".join(tools))
    assert one is not None
    assert (one.who, one.events) == ("curl", 3)
    assert called(tools[0]) is None


def test_a_program_that_gained_no_rights_may_have_forbidden_it_itself() -> None:
    boxed = "A sandbox of the program (Landlock) may refuse it, or a rule of the host"
    for line, means in (
        (f"connect;;confined EACCES 5 7 here {TO} 80 app", boxed),
        ("bind;;confined EACCES 5 7 here 0.0.0.0 8080 app", boxed),
        ("bind;;confined EACCES 5 7 here 0.0.0.0 80 app", "The port to bind is reserved"),
        (f"connect EACCES 5 7 here {TO} 80 app",
         "A route, a rule of the host or a sandbox prohibits it"),
    ):  # fmt: skip
        one = called(f"{line}\n")
        assert one is not None
        assert one.means == means
    refused = ways.Row(TO, "", "", "", 0, "tcp", 80, error="EACCES")
    one = called(f"connect;;confined EACCES 5 7 here {TO} 80 app\n", ways=[refused])
    assert one is not None
    assert not one.means.startswith("A sandbox")


def test_the_mtu_of_the_route_bounds_a_message_that_may_have_no_fragments() -> None:
    line = f"sendto;bytes=1280; EMSGSIZE 5 7 here {TO} 80 app\n"
    way = ways.Row(TO, "", "", "", 0, "udp", 80, network="10.60.0.0/24", interface="v0", mtu=1200)
    one = called(line, ways=[way], links=[link(2, "v0", 1500)])
    assert one is not None
    assert one.means == (
        "Messages above 1,172 bytes exceed the MTU, and the program forbids fragments "
        "(route 10.60.0.0/24 dev v0: 1200)"
    )
    assert "`ip route change 10.60.0.0/24 dev v0`, with the other words" in one.advice
    for rest in ({"learnt": True}, {"mtu": 1500}):  # what a router told, and no less than the link
        (other,) = [called(line, ways=[replace(way, **rest)], links=[link(2, "v0", 1500)])]
        assert other is not None
        assert "route change" not in other.advice


def test_the_path_that_a_program_connects_to_is_told() -> None:
    one = called("connect;peer=0,/run/db.sock; ECONNREFUSED 5 7 here unix - app\n")
    assert one is not None
    assert (one.to, one.called) == ("/run/db.sock", "connect")


def test_a_full_unix_listener_is_told_with_its_program_and_its_backlog() -> None:
    line = "connect;peer={},/run/fpm.sock; EAGAIN 5 7 here unix - edge\n"
    one = called(line.format(50), socket_owners=[socket_owners.Row(50, 640, "fpm")],
                 sockets_unix=[sockets_unix.Row(50, "listen", None, 0, 1)],
                 sysctls=[sysctls.Row("net.core.somaxconn", "4096")])  # fmt: skip
    assert one is not None
    assert one.means == (
        "The accept queue of Unix socket /run/fpm.sock of fpm[640] is full: more wait than its "
        "backlog of 1"
    )
    assert "at most to net.core.somaxconn (4096)" in one.advice
    one = called(line.format(0))
    assert one is not None
    assert one.means.endswith("/run/fpm.sock is full: more wait than its backlog")


def test_data_on_a_connection_that_the_other_end_closed_is_told_with_who_keeps_it() -> None:
    line = f"connection EPIPE 10 0 here {TO} 9000 a program\n"
    line += f"connection 0 10 7 here {TO} 9000 edge\n"
    kept = [socket(5, remote=TO, remote_port=9000, inode=5)]
    one = called(line, sockets_tcp=kept, socket_owners=[socket_owners.Row(5, 7, "edge")])
    assert one is not None
    assert one.means == f"Data is sent on connections that {TO} port 9000 has closed"
    assert (one.who, one.share) == ("edge[7]", 0.5)
    assert f"close-wait dst {TO}:9000" in one.advice
    for received, means in (
        (1, f"{TO} port 9000 closes connections before it answers"),
        (90, f"Data is sent on connections that {TO} port 9000 has closed"),
    ):
        kept = [socket(5, remote=TO, remote_port=9000, inode=5, state="close-wait",
                       bytes_received=received)]  # fmt: skip
        one = called(line, sockets_tcp=kept)
        assert one is not None
        assert (one.who, one.means) == ("edge[7]", means)  # who opened them
    one = called(line.splitlines()[0] + "\n")
    assert one is not None
    assert (one.who, one.share) == ("a program", None)


def test_what_clients_end_by_a_reset_is_no_failure_and_what_a_server_ends_is() -> None:
    clients = "".join(f"recvfrom ECONNRESET 1 7 here {TO} {port} push\n" for port in range(9, 14))
    assert called(clients) is None
    assert called(clients.replace("recvfrom ECONNRESET", "connection EPIPE")) is None
    assert called(clients.replace("recvfrom", "sendto")) is not None
    assert called(f"recvfrom ECONNRESET 5 7 here {TO} 9000 push\n") is not None


def test_who_ends_the_connections_of_a_client_of_this_host_is_known_by_its_port() -> None:
    line = f"recvfrom ECONNRESET 9 8 here {TO} 9000 portal\n"
    listens = socket(5, local="0.0.0.0", local_port=9000, state="listen", inode=5)
    none = dict.fromkeys(snmp.Row.__dataclass_fields__)
    was, now = (snmp.Row(**{**none, "tcp_cut": count}) for count in (1, 10))
    counts = entries([now], entries([was], (), 1.0), 1.0)
    here: dict[str, Any] = {
        "snmp": counts, "sockets_tcp": [listens],
        "socket_owners": [socket_owners.Row(5, 7, "authd")],
        "addresses": [addresses.Row("eth0", TO, 24, 4, "global")],
    }  # fmt: skip
    one = called(line, **here)
    assert one is not None
    assert one.means == "authd[7], which listens at port 9000 here, ends connections by a reset"
    assert one.raises == ("tcp_cut",)
    one = called(line, **{**here, "snmp": []})  # no program ends them with data left
    assert one is not None
    assert one.means == "The other end has reset the connection"
    one = called(line, **{**here, "addresses": []})  # the other end is another host
    assert one is not None
    assert (one.means, one.raises) == ("The other end has reset the connection", ())


def test_a_filter_may_answer_in_place_of_the_kernel_where_a_route_stands() -> None:
    line = f"sendto;;seccomp ENETUNREACH 90 7 here {TO} 53 app\n"
    way: dict[str, Any] = {
        "to": TO, "source": "", "arrives": "", "leaves": "", "mark": 0, "protocol": "udp",
        "port": 53,
    }  # fmt: skip
    one = called(line, ways=[ways.Row(**way)])
    assert one is not None
    assert one.means.startswith("A filter of system calls (seccomp) may answer")
    for rows in ([ways.Row(**way, error="ENETUNREACH")], []):
        one = called(line, ways=rows)
        assert one is not None
        assert "seccomp" not in one.means


def test_a_socket_that_is_bound_to_a_device_that_is_gone() -> None:
    line = f"sendto;ifindex=3; ENODEV 90 7 here {TO} 53 app\n"
    one = called(line, links=[link(1, "lo", 65536), link(4, "mv0", 1500)])
    assert one is not None
    assert one.means == "The socket is bound to a device that is gone (ifindex 3)"
    one = called(line, links=[link(3, "mv0", 1500)])
    assert one is not None
    assert "bound to mv0" in one.means


def test_an_abstract_name_belongs_to_its_network_namespace() -> None:
    line = "connect;peer=0,@bus;abroad=busd[12] ECONNREFUSED 90 7 here unix - app\n"
    one = called(line)
    assert one is not None
    assert (one.to, one.kind) == ("@bus", "refused")
    assert "Unix socket @bus in this network namespace: busd[12] has the name" in one.means
    assert "nsenter -t 12 -n" in one.advice
    one = called(line.replace("abroad=busd[12]", ""))
    assert one is not None
    assert "other end" not in one.advice


def test_a_range_of_ports_of_the_socket_itself() -> None:
    line = f"connect;IP_LOCAL_PORT_RANGE=40000-40004; EADDRNOTAVAIL 90 7 here {TO} 80 app\n"
    one = called(line, sysctls=[sysctls.Row("net.ipv4.ip_local_port_range", "32768 60999")])
    assert one is not None
    assert "own range 40000 to 40004" in one.means


def test_a_port_below_the_limit_of_this_host_is_reserved() -> None:
    line = "bind EACCES 90 7 here 0.0.0.0 8080 app\n"
    name = "net.ipv4.ip_unprivileged_port_start"
    one = called(line, sysctls=[sysctls.Row(name, "9000")])
    assert one is not None
    assert one.means.startswith(f"Port 8080 is reserved: those below 9000 ({name})")
    one = called(line, sysctls=[sysctls.Row(name, "1024")])
    assert one is not None
    assert one.means == "A security module or a filter forbids to bind port 8080"
    assert name in sysctls.names()


def test_some_datagrams_that_a_full_unix_queue_gives_back_are_lost() -> None:
    line, well = "sendto;peer=8,@log; EAGAIN {} 7 here unix - app\n", (
        "sendto;peer=8,@log; 0 40 7 here unix - app\n")  # fmt: skip
    for back, told in ((250, True), (20, True), (4, False)):
        assert (called(line.format(back) + well) is not None) is told, back


def test_the_share_of_datagrams_that_fail_is_known_once_the_others_are_counted() -> None:
    line = f"sendto EMSGSIZE {{}} 7 here {TO} 53 app\n".replace("sendto ", "sendto;bytes=9000; ", 1)
    for well, share in (("", None), ("0", 1.0), ("30", 0.25), ("90", None)):
        other = f"sendto 0 {well} 7 here {TO} 53 app\n" if well else ""
        one = called(line.format(10) + other)
        assert one is not None
        assert one.share == share
