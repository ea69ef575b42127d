"""Alternative names of interfaces are accepted wherever a user names an interface."""

from __future__ import annotations

from typing import Any

from folded import folded
from netlink_bytes import Fake, link, nest, text

from nettop.cli import _command
from nettop.commands._argument import own_names

LONG = "a-name-longer-than-fifteen-bytes"
LINKS = (
    link(2, "eth0", nest(52, text(53, "uplink"), text(53, LONG)))
    + link(3, "eth1", nest(52, text(53, "1234")))
    + link(4, "eth2")
)


def named(*words: str, source: Any = None) -> dict[str, Any]:
    args = _command(words[0]).parse_args(words[1:])
    own_names(args, source or Fake({"route/links": LINKS}))
    return vars(args)


@folded("other", ["uplink", LONG])
@folded(
    ("argument", "words"),
    [
        ("interface", ["rate", "{}"]),
        ("interface", ["show", "nic", "--interface", "{}"]),
        ("interface", ["advise", "--interface", "{}"]),
        ("interface", ["watch", "--interface", "{}"]),
        ("target", ["why", "{}"]),
        ("target", ["explain", "rx-ring-overrun", "{}"]),
        ("rule", ["explain", "rx-ring-overrun@{}"]),
        ("setting", ["get", "link.mtu@eth1", "rps.cpus@{}/rx-0"]),
        ("setting", ["set", "link.mtu@{}", "9000"]),
        ("more", ["set", "link.mtu@eth1", "9000", "link.mtu@{}", "9000"]),
        ("finding", ["apply", "rx-ring-overrun@{}"]),
        ("what", ["export", "rx-ring-overrun@{}", "link.mtu@{}=9000"]),
        ("what", ["prove", "link.mtu@{}=9000", "--to", "10.0.0.1"]),
        ("setting", ["sweep", "link.mtu@{}", "--value", "9000", "--to", "10.0.0.1"]),
    ],
)
def test_an_alternative_name_becomes_the_own_name(
    argument: str, words: list[str], other: str
) -> None:
    found = named(*(word.format(other) for word in words))
    assert found[argument] == named(*(word.format("eth0") for word in words))[argument]
    assert other not in str(found[argument])


@folded(
    "words",
    [
        ["why", "1234"],  # a process
        ["get", "irq.affinity@1234"],  # an interrupt
        ["why", "10.0.0.1:5000"],
        ["why", "eth0@uplink"],  # of a namespace
        ["rate", "nothing"],
        ["get", "sysctl.net.core.rmem_max"],
    ],
)
def test_other_words_stay(words: list[str]) -> None:
    assert named(*words) == named(*words, source=Fake())


def test_without_the_links_a_name_stays() -> None:
    assert named("rate", LONG, source=Fake())["interface"] == LONG


def test_no_name_asks_for_no_links() -> None:
    source = Fake()
    named("get", "sysctl.net.core.rmem_max", source=source)
    named("why", source=source)
    assert source.asked == []
