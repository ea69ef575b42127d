"""Numbers of messages, attributes and commands, compared with those of the kernel's headers.

`uapi_numbers.txt` has the numbers. Where the headers are installed (linux-libc-dev), it is compared
with them; older headers lack some of the names.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from nettop.collect import routing_rules
from nettop.host import monitor_guard
from nettop.host.bpf import arguments
from nettop.host.netlink import driver, ethtool, legacy, netfilter, route, xfrm

HEADERS = Path("/usr/include/linux")


def listed() -> dict[str, dict[str, int]]:
    """The constants of each header in the list."""
    found: dict[str, dict[str, int]] = {}
    for line in Path(__file__).with_name("uapi_numbers.txt").read_text().splitlines():
        if line.endswith(".h"):
            header = found.setdefault(line, {})
        elif line.startswith(" "):
            header |= {name: int(value) for name, value in (w.split("=") for w in line.split())}
    return found


NUMBERS = {name: value for names in listed().values() for name, value in names.items()}
PREFIX = {"eeprom": "MODULE_EEPROM"}
RTNETLINK: Mapping[str, tuple[str, dict[str, str]]] = {
    "LINK": (
        "IFLA",
        {
            "name": "IFNAME",
            "info": "LINKINFO",
            "alias": "IFALIAS",
            "tx_queues": "NUM_TX_QUEUES",
            "rx_queues": "NUM_RX_QUEUES",
            "link_netns": "LINK_NETNSID",
            "parent": "PARENT_DEV_NAME",
            "bus": "PARENT_DEV_BUS_NAME",
        },
    ),
    "_KIND": ("IFLA_INFO", {}),
    "ADDRESS": ("IFA", {}),
    "ROUTE": (
        "RTA",
        {
            "to": "DST",
            "interface": "OIF",
            "metric": "PRIORITY",
            "source": "PREFSRC",
            "encap": "ENCAP_TYPE",
            "encapsulation": "ENCAP",
            "nexthop": "NH_ID",
        },
    ),
    "QDISC": ("TCA", {"stats": "STATS2"}),
}
RULE = {"to": "DST", "source": "SRC", "arrives": "IIFNAME", "mark": "FWMARK", "tunnel": "TUN_ID",
        "suppress": "SUPPRESS_PREFIXLEN", "mask": "FWMASK", "leaves": "OIFNAME",
        "master": "L3MDEV", "users": "UID_RANGE", "protocol": "IP_PROTO",
        "source_ports": "SPORT_RANGE", "ports": "DPORT_RANGE"}  # fmt: skip
IOCTLS = {"coalesce": "COALESCE", "rings": "RINGPARAM", "pause": "PAUSEPARAM", "eee": "EEE",
          "channels": "CHANNELS"}  # fmt: skip


def used() -> Iterator[tuple[str, int]]:
    """Every constant that the code has a number for, by its name in the kernel."""
    for what, kind in ethtool.MESSAGES.items():
        name = PREFIX.get(what, what.upper())
        yield f"ETHTOOL_MSG_{name}_GET", kind.get
        if kind.put is not None:
            yield f"ETHTOOL_MSG_{name}_SET", kind.put
        for number, field in kind.table.items():
            yield f"ETHTOOL_A_{name}_{field.name.upper()}", number
    for table, (prefix, names) in RTNETLINK.items():
        for number, field in getattr(route, table).items():
            yield f"{prefix}_{names.get(field.name, field.name).upper()}", number
    for ours in ("LINK", "ADDR", "ROUTE", "QDISC", "CLASS", "STATS", "RULE"):
        for verb in ("GET", "NEW"):
            name = {"CLASS": "TCLASS"}.get(ours, ours)
            yield f"RTM_{verb}{name}", getattr(route, verb + ours)
    tables = {"CHAIN": "CHAIN", "RULE": "RULE", "_COUNTED": "COUNTER", "_EXPRESSION": "EXPR"}
    for table, prefix in tables.items():
        for number, field in getattr(netfilter, table).items():
            yield f"NFTA_{prefix}_{field.name.upper()}", number
    for number, field in routing_rules.RULE.items():
        yield f"FRA_{RULE.get(field.name, field.name).upper()}", number
    for name in ("SRC", "IIF", "MARK", "IP_PROTO", "DPORT"):
        yield f"RTA_{name}", getattr(route, name)
    yield from ((name, number) for (_, number), name in arguments._OPTIONS.items())
    for name in ("NEWPOLICY", "GETPOLICY", "GETSADINFO"):
        yield f"XFRM_MSG_{name}", getattr(xfrm, name)
    yield from (("XFRMA_TMPL", number) for number in xfrm.POLICY)
    for number, field in (monitor_guard.SETUP | monitor_guard.REPORT | monitor_guard.STATS).items():
        yield f"NET_DM_ATTR_{field.name.upper()}", number
    for name in ("ALERT", "CONFIG", "START", "STOP", "CONFIG_GET", "STATS_GET"):
        yield f"NET_DM_CMD_{name}", getattr(monitor_guard, name)
    yield "NET_DM_CMD_PACKET_ALERT", monitor_guard.PACKET
    yield "NET_DM_GRP_ALERT", monitor_guard.GROUP
    yield "NET_DM_ALERT_MODE_SUMMARY", monitor_guard.SUMMARY
    yield "NET_DM_ALERT_MODE_PACKET", monitor_guard.EACH
    for module in (driver, legacy):
        for name, value in vars(module).items():
            if re.fullmatch("[GS][A-Z_]{4,}", name) and name != "STATISTICS":
                yield f"ETHTOOL_{name}", value
    for what, (get, put, _) in legacy.CALLS.items():
        yield f"ETHTOOL_G{IOCTLS[what]}", get
        yield f"ETHTOOL_S{IOCTLS[what]}", put


def test_every_number_is_that_of_the_kernel() -> None:
    ours = dict(used())
    assert ours == {name: NUMBERS.get(name) for name in ours}
    assert set(ours) == set(NUMBERS)


def test_flags_and_string_sets_have_the_numbers_of_the_kernel() -> None:
    """ETHTOOL_FLAG_COMPACT_BITSETS 1 and _STATS 4; enum ethtool_stringset."""
    compact = {"linkmodes", "features", "privflags", "eee", "fec"}
    flags = {what: kind.flags for what, kind in ethtool.MESSAGES.items() if kind.flags}
    assert flags == dict.fromkeys(compact, 1) | {"pause": 4, "fec": 1 | 4}
    assert ethtool.STRING_SETS == {"privflags": 2, "features": 4, "hash": 5, "linkmodes": 9,
                                   "eth-phy": 17, "eth-mac": 18, "eth-ctrl": 19,
                                   "rmon": 20}  # fmt: skip
    assert driver.STATISTICS == 1
    assert legacy.FEATURES == 4


def constants(text: str) -> dict[str, int]:
    """The enumerators and plain definitions of a header."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    plain = r"^#define[ \t]+(\w+)[ \t]+(0x[0-9a-fA-F]+|\d+)[ \t]*$"
    found = {name: int(value, 0) for name, value in re.findall(plain, text, re.MULTILINE)}
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, re.DOTALL):
        value = -1
        for item in re.sub(r"^\s*#.*$", "", body, flags=re.MULTILINE).split(","):
            name, equals, given = (part.strip() for part in item.partition("="))
            if equals and not re.fullmatch(r"\d+|0x[0-9a-f]+", given):
                value = found.get(given, 1 << 40)
            else:
                value = int(given, 0) if equals else value + 1
            found[name] = value
    return found


@pytest.mark.parametrize("header", listed())
def test_the_list_is_that_of_the_headers(header: str) -> None:
    if not (HEADERS / header).exists():
        pytest.skip("linux-libc-dev is not installed")
    known = constants((HEADERS / header).read_text())
    ours = listed()[header]
    there = {name: known[name] for name in ours if name in known}
    assert there == {name: ours[name] for name in there}
    assert len(there) > len(ours) // 2
