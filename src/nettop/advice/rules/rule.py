"""What a rule, a finding and a silence are; and the form of a rule file.

A rule is one TOML file, `rules/<surface>/<problem>.toml`. The file's name is its id: lower case
words with dashes that name the *problem*, never the remedy. Keys (those marked * are required):

    title*    one line for a person; may contain {templates}
    severity* "critical" (loss or fault now) "warning" (costs now) "advice" (could be better) "info"
    over*     what it is judged on, once each: host nic queue core flow process capture path
    when*     a condition (below); the rule speaks when it is TRUE, never when it is unknown
    why*      what happens, what it costs, what the change does, what could go wrong
    encodes   ids of knowledge.md; required in the rules that come with nettop
    links     kinds of interface: nic veth bond bridge vlan tunnel loopback wireless other.
              Default for nic, queue, path: ["nic"] (on a bus, real or paravirtual); for flow,
              process, capture: all but loopback
    profiles  bulk-lan bulk-wan latency capture server; default all
    hold      seconds `when` must have been true (default 0); rates want 3 or more
    unless    [{ when = "…", say = "why it stays silent" }]; an unknown one silences the rule too:
              write known(x) and … where it should not
    yields    ids of rules that say it better: silent where one of them holds on the same target,
              on an interface this one is about, or on the host
    show      fields that are evidence besides those that made `when` true
    expected  the published effect under its conditions; never a promise
    gain      the published effect as a ratio, 1.26 for +26 %: only orders findings of one severity
    safety    true: about being right or safe, not fast; no test run shows it, so `tune` names it
              and leaves it to `apply`
    [limits]  named numbers or lists of texts, read as limits.NAME; users override them
    [[source]]*     paper or doc, place, figure; url and note optional
    [[competing]]   the same plus because: advice that points the other way, and why it loses here
    [[fix]]         set + to, or advice; optional if, each, experiment
    [[test]]*       at least one that finds and one that does not; all tests stand LAST in the file

Any text may be broken into lines (TOML's triple quotes); they are joined again. A `paper` or `doc`
of the rules that come with nettop is named as `rules/papers.toml` names it.

Conditions and values are Python-like expressions. Names: the fact named by `over`, its parents
(queue: nic; flow: nic, queue, process; process: nic; capture: nic, process; path: nic), `host`,
`profile` (text), `limits`. Fields are those of `nettop/facts/*.py`, e.g. nic.per_s.ring_drops.
Allowed: and or not, == != < <= > >= (also chained), in / not in, + - * / // %, a if c else b,
numbers, 'text', tuples, x[2] with a constant, and these functions:

    on(nic, 'rx-gro') fixed(nic, 'rx-gro')   on / cannot be changed; unknown when not listed
    sysctl('net.ipv4.tcp_rmem')              number, tuple of numbers, or text; unknown when absent
    known(x)                                 whether x is known: the only way to ask
    core(cpu)                                the Core with that number: core(queue.cpu).softirq
    min max abs round len any all            any and all take a tuple of conditions
    pow2(x)                                  the next power of two
    worst(nic.per_s.ring_drops, 60)          the largest value of the last 60 s of this run
    since_boot(nic.per_s.ring_drops)         the count behind a rate of nic.per_s
    nth(cpus, i)                             the i-th of a tuple, going round
    both(cpus, others)  without(cpus, x, …)  CPUs in both; CPUs less those (numbers or tuples)
    beside(cpu)                              the CPU for the reader of what `cpu` receives: another
                                             core that shares its L2, else L3, else node
    spread(cpus, i)                          the i-th, going round, siblings last: spread(
                                             nic.local_cpus, queue.number)
    own_cpus(queue.number, nic.tx_queues)    the CPUs of a transmit queue, each its own
    cpu_list(cpus)                           (0, 1, 2, 8) as '0-2,8'; takes numbers or tuples
    triple(a, b, c), keep                    only in `to`: a sysctl's numbers; keep = as it is
    text(x)                                  only in `to`: a number as text

A field that is None is *unknown*. Logic is three-valued: unknown and False is False, unknown or
True is True, every other use of an unknown is unknown; x / 0 is unknown. None cannot be written.

[[fix]] All whose `if` is true count, in order; of several that set the same setting the first wins.
    set  = "ring.rx@{nic}"      an address of a setting; {nic} {queue} {cpu} {pid} are the target's
                                names ({queue} is rx-0, so irq.affinity@{nic}/{queue})
    to   = "min(nic.ring.rx * 2, nic.ring.rx_max)"   always an expression: text is "'fq'", a switch
                                is "True" or "False" (canonical on / off), CPUs are numbers,
                                lists of them, or text such as "'0-3'"
    to   = { latency = "…", capture = "…", default = "…" }    by profile
    if   = "…"                  default: always; unknown counts as not
    each = "queue"              once for each queue of the nic (or core, nic); `queue` is known in
                                set, to and if
    experiment = true           an offer to test (`p`), not an assertion
    advice = "…"                words only; may contain {templates}; alone or with `if`, `each`
What is already so, or beyond what the driver allows, is left out by itself.

Templates: {nic} {queue} {cpu} {pid} {process} {flow} are names; any other {expression} is its value
with its unit ({nic.ring.rx} is "256 descriptors"), "unknown" when it is. {{ and }} are braces.
They work in title, why, expected, advice and say.

[[test]] compact facts; what is not said has its default (mostly unknown). Names have defaults
(eth0, kind nic, rx-0, cpu 0 …), so only what matters is written:
    finds    = true             * whether the rule speaks
    nic      = { ring = { rx = 256, rx_max = 4096 }, per_s = { ring_drops = 1204 },
                 features = { rx-gro = false, rx-lro = "fixed off" } }
    host = {…}  queue = {…}  core = {…}  flow = {…}  process = {…}  capture = {…}  path = {…}
    nics = [{…}, …]  queues = […]  cores = […]  flows = […] …       several of a kind
    sysctls  = { "net.ipv4.tcp_sack" = 0, "net.ipv4.tcp_rmem" = "4096 131072 6291456" }
    profile  = "bulk-lan"       default: the rule's first profile, or server
    before   = { nic = {…} }    facts of an earlier moment, for worst(); ago = 30 (seconds)
    recorded = "hosts/NAME"     a recorded host (under tests/) instead of inline facts
    target   = "eth0"           look at this target only; the default is any
    wanted   = [["ring.rx@eth0", "512"]]    exactly what the finding would change, in order
    advice   = "…"  silent = "…"  title = "…"    a part of the advice / why silent / title
    name     = "…"              what the test shows
A test that gives a child gets its parent: queue = {…} alone also makes the nic it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from ..language.expression import Expression
from ..language.syntax import Limits
from ..language.template import Template

SEVERITIES: Final = ("critical", "warning", "advice", "info")
LINKS: Final = (
    "nic", "veth", "bond", "bridge", "vlan", "tunnel", "loopback", "wireless", "other",
)  # fmt: skip
Cite = Mapping[str, str]  # paper or doc, place, figure, url, note; because in competing advice


@dataclass(frozen=True, slots=True)
class Unless:
    """A condition under which the rule has nothing to say, and the sentence that tells why."""

    when: Expression
    say: Template


@dataclass(frozen=True, slots=True)
class Fix:
    """One thing to do: a setting and its value, or words."""

    setting: Template | None = None
    to: Mapping[str, Expression] = field(default_factory=dict)  # by profile, or "default"
    when: Expression | None = None
    each: str | None = None
    experiment: bool = False
    advice: Template | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """What a rule has to say once it speaks, and what it would do."""

    title: Template
    why: Template
    expected: Template
    show: tuple[Expression, ...] = ()
    sources: tuple[Cite, ...] = ()
    competing: tuple[Cite, ...] = ()
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True)
class Rule:
    """One problem: how it shows, why it matters, what to do, and how that is known."""

    id: str
    surface: str
    path: str
    severity: str
    over: str
    when: Expression
    later: Callable[[], Words] = field(compare=False, repr=False)
    links: frozenset[str] | None = None  # None: every kind
    profiles: frozenset[str] | None = None  # None: every profile
    hold: float = 0.0
    unless: tuple[Unless, ...] = ()
    yields: tuple[str, ...] = ()
    encodes: tuple[str, ...] = ()
    gain: float = 1.0
    safety: bool = False
    limits: Limits = field(default_factory=dict)

    @cached_property
    def words(self) -> Words:
        """Read when first needed: of a hundred rules few ever speak."""
        return self.later()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A setting and the canonical value it should have; an experiment is an offer to test."""

    setting: str
    value: str
    experiment: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that holds on a target, with its evidence and what would put it right."""

    id: str  # rule@target
    rule: str
    target: str
    severity: str
    title: str
    why: str
    held: float  # seconds
    evidence: tuple[Mapping[str, Any], ...]  # {field, value, unit}
    sources: tuple[Cite, ...]
    competing: tuple[Cite, ...]
    encodes: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    advice: tuple[str, ...]
    expected: str
    seen: bool = False  # a loss or a saturation was seen, not only a setting
    gain: float = 1.0
    safety: bool = False  # no test run can prove it


@dataclass(frozen=True, slots=True)
class Silent:
    """A rule that does not speak on a target, and why."""

    rule: str
    target: str
    because: str
    applies: bool = True  # False: the target, or the host's profile, is none that it judges
