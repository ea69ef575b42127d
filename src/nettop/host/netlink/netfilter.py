"""Rules, chains and sets of nf_tables: NFT_MSG_GETCHAIN, _GETRULE, _GETSET and _GETSETELEM.

Numbers: include/uapi/linux/netfilter/nf_tables.h, in network byte order. The requests need
CAP_NET_ADMIN. The rules of iptables-nft are among them, those of the older xtables are not.
"""

from typing import Final

from ..source import Source
from .codec import Field, Request, Table, attribute

_SUBSYSTEM: Final = 10 << 8  # NFNL_SUBSYS_NFTABLES
NEWCHAIN, GETCHAIN, NEWRULE, GETRULE, NEWSET, GETSET, NEWSETELEM, GETSETELEM = (
    _SUBSYSTEM | number for number in (3, 4, 6, 7, 9, 10, 12, 13)
)
HEAD: Final = 4  # struct nfgenmsg: family, version, resource
FAMILIES: Final = {1: "inet", 2: "ip", 3: "arp", 5: "netdev", 7: "bridge", 10: "ip6"}
_NUMBERS: Final = {name: number for number, name in FAMILIES.items()}

_COUNTED: Final = {1: Field("bytes", "raw"), 2: Field("packets", "raw")}
CHAIN: Final[Table] = {
    1: Field("table", "text"),
    3: Field("name", "text"),
    4: Field(
        "hook",
        "nest",
        {
            1: Field("number", "raw"),
            2: Field("priority", "raw"),
            3: Field("device", "text"),
            4: Field("devices", "raw"),
        },
    ),
    5: Field("policy", "raw"),
    7: Field("type", "text"),
    8: Field("counters", "nest", _COUNTED),
}
_VERDICT: Final = {
    2: Field("verdict", "nest", {1: Field("code", "raw"), 2: Field("chain", "text")})
}
# what an expression may hold: a counter, or (immediate) the data of a register
_EXPRESSION: Final = {1: Field("name", "text"), 2: Field("data", "raw")}
RULE: Final[Table] = {
    1: Field("table", "text"),
    2: Field("chain", "text"),
    3: Field("handle", "raw"),
    4: Field("expressions", "nest", {1: Field("list", "many", _EXPRESSION)}),
}
COUNTER: Final[Table] = _COUNTED
IMMEDIATE: Final[Table] = {2: Field("data", "nest", _VERDICT)}


def loaded(source: Source) -> bool:
    """Whether nf_tables is in the kernel now: a request would load the module otherwise.

    True if the module is loaded or built in, or if the kernel has no modules.
    """
    try:
        modules = {line.split(" ")[0] for line in source.text("/proc/modules").splitlines()}
    except FileNotFoundError:
        return True
    if "nf_tables" in modules:
        return True
    try:
        release = source.text("/proc/sys/kernel/osrelease").strip()
        return "/nf_tables.ko" in source.text(f"/lib/modules/{release}/modules.builtin")
    except OSError:  # a kernel without files of modules: nfnetlink is built in
        return "nfnetlink" not in modules and _listens(source)


def _listens(source: Source) -> bool:
    """Whether the kernel has a socket of NETLINK_NETFILTER."""
    try:
        rows = source.text("/proc/net/netlink").splitlines()[1:]
    except OSError:
        return False
    return any(row.split()[1:3] == ["12", "0"] for row in rows)


def ruleset(source: Source) -> tuple[bytes, bytes]:
    """All chains of all families, and all their rules. OSError, also if nf_tables is not in use."""
    if not loaded(source):
        raise FileNotFoundError(2, "nf_tables is not loaded")
    chains = Request("netfilter", GETCHAIN, bytes(HEAD), "netfilter/chains", dump=True)
    rules = Request("netfilter", GETRULE, bytes(HEAD), "netfilter/rules", dump=True)
    return source.netlink(chains), source.netlink(rules)


def sets(source: Source) -> bytes:
    """All sets and maps of all families, without their elements. OSError."""
    return source.netlink(Request("netfilter", GETSET, bytes(HEAD), "netfilter/sets", dump=True))


def elements(source: Source, family: str, table: str, name: str) -> bytes:
    """The elements of a set. OSError, FileNotFoundError if it is gone."""
    head = bytes((_NUMBERS[family], 0, 0, 0))
    body = head + attribute(1, table.encode() + b"\0") + attribute(2, name.encode() + b"\0")
    known = f"netfilter/elements/{family}/{table}/{name}"
    return source.netlink(Request("netfilter", GETSETELEM, body, known, dump=True))
