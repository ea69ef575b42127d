"""Facts after a fix: the settings that findings ask for, as far as facts hold them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from nettop.advice.rules.rule import Finding, Wanted
from nettop.collect._drivers import driver
from nettop.facts import Facts
from nettop.facts.kinds.nic import Nic
from nettop.facts.kinds.tunnel import Tunnel

_PARTS: Final = ("ring", "coalesce", "pause", "channels")
_LINK: Final = {"mtu": "mtu", "txqueuelen": "txqueuelen", "gso-max-size": "gso_max_size",
                "gro-max-size": "gro_max_size"}  # fmt: skip
_OF_HOST: Final = {"net.core.rps_sock_flow_entries": "rps_flow_entries",
                   "net.netfilter.nf_conntrack_max": "conntrack_max"}  # fmt: skip


def held(wanted: Wanted) -> bool:
    """Whether facts hold this setting, so that they can show it changed."""
    kind, _, rest = wanted.setting.partition(".")
    name = rest.partition("@")[0]
    return kind in ("sysctl", "feature", *_PARTS) or (kind == "link" and name in _LINK)


def after(facts: Facts, changes: Iterable[Wanted]) -> Facts:
    """The same moment with these settings; what was measured stays."""
    for change in changes:
        kind, _, rest = change.setting.partition(".")
        name, _, target = rest.partition("@")
        if kind == "sysctl":
            facts = _grown(facts, rest, change.value)
            facts = replace(facts, sysctls={**facts.sysctls, rest: change.value})
            if rest in _OF_HOST:
                known: dict[str, Any] = {_OF_HOST[rest]: int(change.value)}
                host = replace(facts.host, **known)
                facts = replace(facts, host=host)
        elif held(change):
            nics = tuple(
                _changed(nic, kind, name, change.value) if nic.name == target else nic
                for nic in facts.nics
            )
            facts = replace(facts, nics=nics)
            if kind == "link" and name == "mtu":
                tunnels = tuple(
                    replace(one, mtu=int(change.value))
                    if isinstance(one, Tunnel) and one.name == target
                    else one
                    for one in facts.more.get("tunnel", ())
                )
                facts = replace(facts, more={**facts.more, "tunnel": tunnels})
    return facts


_BUFFERS: Final = {"net.ipv4.tcp_rmem": "rcvbuf", "net.ipv4.tcp_wmem": "sndbuf"}


def _grown(facts: Facts, name: str, value: str) -> Facts:
    """Buffers at the old limit grow to the new one (tcp_rcv_space_adjust, tcp_sndbuf_expand).

    What a receiver offers grows with its buffer, to about half of it.
    """
    field = _BUFFERS.get(name)
    if field is None or name not in facts.sysctls:
        return facts
    old, new = (int(text.split()[-1]) for text in (facts.sysctls[name], value))
    grown: dict[str, Any] = {field: max(new, old)}
    flows = tuple(
        flow if getattr(flow, field) != old
        else replace(flow, **grown) if field == "sndbuf" or flow.offers is None
        else replace(flow, **grown, offers=max(flow.offers, grown[field] // 2))
        for flow in facts.flows
    )  # fmt: skip
    return replace(facts, flows=flows)


def _changed(nic: Nic, kind: str, name: str, value: str) -> Nic:
    if kind == "feature":
        features = tuple(
            replace(one, on=value == "on", wanted=value == "on") if one.name == name else one
            for one in nic.features
        )
        return replace(nic, features=features)
    new: Any = value == "on" if value in ("on", "off") else int(value)
    if kind == "link":
        return replace(nic, **{_LINK[name]: new})
    part = replace(getattr(nic, kind), **{name.replace("-", "_"): new})
    nic = replace(nic, **{kind: part})
    if (kind, name) == ("coalesce", "rx-usecs") and nic.dynamic_moderation is not None:
        return replace(nic, dynamic_moderation=new in driver(nic.driver).dynamic_usecs)
    return nic


def quiet(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that must end with their changes: facts hold the changes, and no loss was measured.

    Experiments are left out: only a measurement shows the effect of their changes.
    """
    return [
        one for one in findings
        if one.wanted and not one.seen and all(map(held, one.wanted))
        and not all(wanted.experiment for wanted in one.wanted)
    ]  # fmt: skip
