"""Nothing that the kernel drops is passed over: each reason and each counter has a finding."""

import re
import tomllib

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.collect import failures, snmp
from nettop.config import rules_folder

RULES = load([rules_folder()])
RATE = 2.0  # a second, of one reason or counter alone
# the counters of Linux 6.18 whose names speak of a loss or a refusal (net/ipv4/proc.c,
# net/ipv6/proc.c, net/mptcp/mib.c)
LOSSES = """
TcpExt.SyncookiesFailed TcpExt.EmbryonicRsts TcpExt.RcvPruned TcpExt.OutOfWindowIcmps
TcpExt.LockDroppedIcmps TcpExt.ArpFilter TcpExt.PAWSActive TcpExt.PAWSEstab TcpExt.BeyondWindow
TcpExt.TSEcrRejected TcpExt.PAWSTimewait TcpExt.ListenOverflows TcpExt.ListenDrops
TcpExt.TCPAbortOnData TcpExt.TCPAbortOnClose TcpExt.TCPAbortOnMemory TcpExt.TCPAbortOnTimeout
TcpExt.TCPAbortFailed TcpExt.TCPMD5NotFound TcpExt.TCPMD5Unexpected TcpExt.TCPMD5Failure
TcpExt.TCPBacklogDrop TcpExt.PFMemallocDrop TcpExt.TCPMinTTLDrop TcpExt.TCPDeferAcceptDrop
TcpExt.IPReversePathFilter TcpExt.TCPTimeWaitOverflow TcpExt.TCPReqQFullDrop TcpExt.TCPRetransFail
TcpExt.TCPOFODrop TcpExt.TCPFastOpenActiveFail TcpExt.TCPFastOpenPassiveFail
TcpExt.TCPFastOpenListenOverflow TcpExt.TCPZeroWindowDrop TcpExt.TCPRcvQDrop TcpExt.TCPWqueueTooBig
TcpExt.TCPMigrateReqFailure TcpExt.TCPAORequired TcpExt.TCPAOBad TcpExt.TCPAOKeyNotFound
TcpExt.TCPAODroppedIcmps IpExt.InNoRoutes IpExt.InTruncatedPkts IpExt.InCsumErrors
IpExt.ReasmOverlaps MPTcpExt.MPJoinSynAckHMacFailure MPTcpExt.MPJoinAckHMacFailure
MPTcpExt.MPJoinRejected MPTcpExt.MPJoinNoTokenFound MPTcpExt.MPJoinSynTxCreatSkErr
MPTcpExt.MPJoinSynTxBindErr MPTcpExt.MPJoinSynTxConnectErr MPTcpExt.DataCsumErr
MPTcpExt.NoDSSInWindow MPTcpExt.AddAddrTxDrop MPTcpExt.EchoAddTxDrop MPTcpExt.AddAddrDrop
MPTcpExt.MismatchPortSynRx MPTcpExt.MismatchPortAckRx MPTcpExt.RmAddrDrop MPTcpExt.RmAddrTxDrop
MPTcpExt.FallbackFailed Ip.InHdrErrors Ip.InAddrErrors Ip.InUnknownProtos Ip.InDiscards
Ip.OutDiscards Ip.OutNoRoutes Ip.ReasmFails Ip.FragFails Icmp.InCsumErrors Icmp.InParmProbs
Icmp.OutErrors Icmp.OutRateLimitGlobal Icmp.OutRateLimitHost Tcp.InCsumErrors Udp.NoPorts
Udp.InErrors Udp.RcvbufErrors Udp.SndbufErrors Udp.InCsumErrors Udp.MemErrors UdpLite.InErrors
UdpLite.SndbufErrors 6.Ip6InHdrErrors 6.Ip6InNoRoutes 6.Ip6InAddrErrors 6.Ip6InUnknownProtos
6.Ip6InTruncatedPkts 6.Ip6InDiscards 6.Ip6OutDiscards 6.Ip6ReasmFails 6.Ip6FragFails
6.Icmp6OutErrors 6.Icmp6InCsumErrors 6.Icmp6OutRateLimitHost 6.Icmp6InParmProblems 6.Udp6NoPorts
6.Udp6InErrors 6.Udp6RcvbufErrors 6.Udp6SndbufErrors 6.Udp6InCsumErrors 6.Udp6MemErrors
6.UdpLite6InErrors 6.UdpLite6SndbufErrors
""".split()


def test_each_counter_of_a_loss_is_read_by_a_rule() -> None:
    grouped = {name for group in failures.groups() for name in group.names}
    words = "".join(path.read_text("utf-8") for path in rules_folder().rglob("*.toml"))
    told = {
        name
        for field, names in snmp._SUMS.items() if re.search(rf"host\.{field}\b", words)
        for name in names.split()
    }  # fmt: skip
    assert [name for name in LOSSES if name not in grouped | told] == []


def test_each_counter_that_alone_rises_above_its_floor_has_a_finding() -> None:
    judge = Judge(RULES, muted=(), window=0.0)
    for row in (group.row for group in failures.groups()):
        rate = max(RATE, row.least)
        one = {"name": row.name, "means": row.means, "advice": row.advice, "events": rate}
        one |= {"least": row.least}
        seen = facts({"failures": [one], "host": {"ip_in": RATE}}, "server", 1000.0)
        assert f"counted-as-failed@{row.name}" in {one.id for one in judge.judge(seen).findings}


def test_each_reason_that_alone_drops_has_a_finding() -> None:
    judge = Judge(RULES, muted=(), window=0.0)
    text = (rules_folder() / "drop-reasons.toml").read_text("utf-8")
    for entry in tomllib.loads(text)["reason"]:
        if entry["kind"] == "normal":
            continue
        one = {key: entry[key] for key in ("kind", "means", "advice")}
        one |= {"id": "X/y", "reason": entry["name"], "packets": 20, "per_s": RATE}
        found = judge.judge(facts({"drops": [one]}, "server", 1000.0)).findings
        assert [entry["means"] in one.title for one in found], entry
