"""Every form of the rules' language: what it says in words, or why it is refused.

`pytest tests/advice/test_language_tables.py --update` writes the expected output anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from folded import folded
from golden_text import same

from nettop.advice.language import words
from nettop.advice.language.expression import condition, parse
from nettop.advice.language.syntax import ExpressionError, Limits
from nettop.advice.language.template import shown, template
from nettop.advice.language.values import Value

GOLDEN = Path(__file__).parents[1] / "golden/language"
LIMITS: Limits = {"most": 3, "share": 0.25, "names": ("a", "b"), "one": 1}
CONDITIONS = """
nic.mtu > 1500
1500 < nic.mtu
1500 <= nic.mtu
1500 == nic.mtu
limits.most >= nic.mtu
nic.mtu != limits.most
nic.speed >= 1e10
nic.rx_load > 0.5
nic.rx_load > limits.share
nic.per_s.ring_drops > 0
nic.per_s.rx_packets == 1
nic.total.ring_drops > 0
nic.kind == 'nic'
nic.kind in ('nic', 'bond')
nic.kind not in ('nic', 'bond', 'vlan')
nic.kind in limits.names
nic.name == ''
flow.limit == 'sndbuf'
flow.limit in ('sndbuf', 'cwnd')
nic.xdp
not nic.xdp
nic.xdp == True
nic.xdp == False
nic.xdp != True
nic.xdp and nic.promisc or nic.up
nic.xdp and (nic.promisc or nic.up)
not (nic.xdp and nic.up)
len(nic.local_cpus) > 0
len(nic.local_cpus) == 0
len(nic.local_cpus) >= 2
0 < len(nic.local_cpus)
known(nic.node)
not known(nic.node)
known(nth(nic.local_cpus, 0))
known(nic.mtu > 1)
any((nic.xdp, nic.up))
all((nic.xdp, nic.up))
any(nic.local_cpus)
not any((nic.xdp, nic.up))
on(nic, 'rx-gro')
not on(nic, 'rx-gro')
fixed(nic, 'rx-gro')
worst(nic.per_s.ring_drops, 5) > 0
increase(nic.mtu, 5) > 0
worst(nic.mtu, nic.mtu) > 0
worst(1, 5) > 0
since_boot(nic.per_s.ring_drops) > 0
since_boot(nic.mtu) > 0
host.kernel >= (6, 11)
(6, 11) <= host.kernel
nic.mtu * 2 > 5
2 * nic.mtu > 5
0.5 * nic.mtu > 5
limits.share * nic.mtu > 5
1 * nic.mtu > 5
nic.mtu * nic.rx_load > 5
nic.mtu * limits.share > 5
nic.mtu + 1 > 5
nic.mtu - 1 > 5
nic.mtu / 2 > 5
nic.mtu // 2 > 5
nic.mtu % 2 == 1
-nic.mtu < 0
nic.mtu ** 2 > 1
nic.mtu << 2 > 1
~nic.mtu > 1
+nic.mtu > 1
1 < nic.mtu < 9000
min(nic.mtu, 5) > 1
max(nic.mtu, 1) > 1
max(nic.mtu, 2) > 1
max(nic.mtu, 5, 1) > 1
abs(nic.mtu) > 1
round(nic.mtu) > 1
pow2(nic.mtu) > 1
both(nic.local_cpus, nic.irq_cpus) == nic.local_cpus
without(nic.local_cpus, nic.irq_cpus, 3) == nic.local_cpus
nth(nic.local_cpus, 0) == 1
nth(nic.local_cpus) == 1
nic.local_cpus[0] == 1
nic.local_cpus[3] == 1
nic.local_cpus[4] == 1
nic.local_cpus[-1] == 1
nic.local_cpus[nic.mtu] == 1
nic.mtu[0] == 1
(1 if nic.xdp else 2) > 1
(1 if nic.mtu else 2) > 1
('a' if nic.xdp else 2) == 1
profile == 'capture'
profile in ('capture', 'server')
nic.mtu
'text'
nic
nic.ring
nic.ring > 1
nic.ring.rx.most > 1
nic.mtuu > 1
nic.ring.rxx > 1
nick.mtu > 1
nic.xdp > 1
nic.name > 'a'
nic.name == 1
nic.mtu == 'x'
1 in nic.mtu
1 in nic.local_cpus
nic.mtu in nic.name
nic.mtu is None
nic.mtu == limits.absent
frobnicate(nic.mtu) > 1
lenn(nic.mtu) > 1
len(nic.local_cpus, 1) > 1
len() > 1
len(x=1) > 1
len(*nic.local_cpus) > 1
max() > 1
pow2('x') > 1
cpu_list(nic.local_cpus) == '0'
keep
lambda: 1
[1, 2]
f'{nic.mtu}'
nic.mtu >
__import__('os')
nic.__class__ == 1
(nic.mtu > 1, nic.xdp)
nic.irq_top_cpu == 3
core(nic.irq_top_cpu).idle < 5
core(nic.irq_top_cpu).idlee < 5
sysctl('net.core.rmem_max') > 1
""".strip().splitlines()


@pytest.mark.parametrize("over", ["nic", "flow", "host"])
def test_conditions_in_words_or_refused(over: str, update: bool) -> None:
    out = []
    for text in CONDITIONS:
        if over != "nic" and not text.startswith(("nic.mtu", "flow.", "host.", "profile")):
            continue
        try:
            told = words.in_words(condition(text, over, LIMITS), LIMITS)
        except ExpressionError as error:
            told = f"refused: {error}"
        out.append(f"{text}: {told}")
    same(GOLDEN / f"conditions-{over}.txt", "\n".join(out) + "\n", update)


VALUES = """
nic.mtu
keep
nic.ring.rx_max
min(nic.ring.rx_max, 4096)
cpu_list(nic.local_cpus)
'on'
'on' if nic.xdp else 'off'
nic.mtu if nic.xdp else keep
1 + nic.mtu
beside(nic.irq_top_cpu)
spread(nic.local_cpus, 1)
own_cpus(1, 2)
nic.xdp
limits.names
limits.most
-1
(1, 2)
nothing
""".strip().splitlines()


def test_values_in_words_or_refused(update: bool) -> None:
    out = []
    for text in VALUES:
        for to in (False, True):
            try:
                found = parse(text, "nic", LIMITS, to=to)
                told = f"{found.type}: {words.in_words(found, LIMITS)}"
            except ExpressionError as error:
                told = f"refused: {error}"
            out.append(f"{text}{' (to)' * to}\n    {told}")
    same(GOLDEN / "values.txt", "\n".join(out) + "\n", update)


TEMPLATES = """
plain text
{{braces}} and {nic}
{nic} has {nic.ring.rx} of {nic.ring.rx_max}
{nic.rx_load} of {nic.speed}
the interface {nic.name}
the driver {nic.driver}
{cpu_list(nic.local_cpus)} and {nic.mtu * 2}
ethtool -G {nic} rx {nic.ring.rx_max}
ip link set dev {nic} mtu 9000
limits: {limits.most}
{profile} on {host.name}, kernel {host.kernel}
{nic.mtu
nic.mtu}
{}
{nic.mtuu}
{pid}
{process}
""".strip().splitlines()


def test_templates_in_general_or_refused(update: bool) -> None:
    out = []
    for over in ("nic", "process"):
        for text in TEMPLATES:
            try:
                made = template(text, over, LIMITS)
                told = f"{made.form()}\n    {made.general(LIMITS)}"
            except ExpressionError as error:
                told = f"refused: {error}"
            out.append(f"{over}: {text}\n    {told}")
    same(GOLDEN / "templates.txt", "\n".join(out) + "\n", update)


@folded(("value", "unit", "text"), [
    ((), "", "none"), ("", "", "none"), (("a b", "c"), "", "a b; c"), (("a", "c"), "", "a c"),
    (1500, "bytes", "1500 bytes"), (1024, "bytes", "1 KiB"), (9999, "bytes", "9999 bytes"),
    (10_000, "bytes", "9.77 KiB"), (10_001, "bytes", "9.77 KiB"), (1, "queues", "1 queue"),
    (2, "queues", "2 queues"), (0, "queues", "0 queues"), (1, "packets/s", "1 packet/s"),
    (1, "CPUs", "1 CPU"), (1, "bytes/s", "8 b/s"), (True, "queues", "yes"), (None, "s", "–"),
    (1, "dB", "1 dB"), (1, "entries", "1 entry"), (1, "processes", "1 process"),
    (1, "calls", "1 call"), (1.0, "events/s", "1 event/s"), (2.0, "events/s", "2 events/s"),
])  # fmt: skip
def test_a_value_is_shown_with_its_unit(value: Value | None, unit: str, text: str) -> None:
    assert shown(value, unit) == text


@folded(("field", "name"), [
    ("sysctl.net.core.rmem_max", "net.core.rmem_max"), ("feature.rx-gro", "rx-gro"),
    ("nic.ring.rx", "receive ring"), ("nic.kind", "kind of interface"), ("a b", "a b"),
    ("nic.total.ring_drops", "packets dropped, receive ring full (total)"),
])  # fmt: skip
def test_the_name_of_a_field(field: str, name: str) -> None:
    assert words.field_name(field) == name


def test_a_kernel_version_is_shown_with_points() -> None:
    assert words.value_text("host.kernel", (6, 12), "") == "6.12"
    assert words.value_text("nic.ring.rx", 256, "descriptors") == "256 descriptors"
    assert words.value_text("nic.ring.rx", None, "descriptors") == "–"
