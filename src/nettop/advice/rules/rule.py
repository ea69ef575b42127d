"""Rules, findings and silences; and the format of a rule file.

A rule is one TOML file, `rules/<surface>/<problem>.toml`. The file name is its id: lower case words
with dashes that name the *problem*, not the remedy. Rules that share most of their keys are cases
of one file (at the end). Keys (* marks required keys):

    title*    one line: the problem and its object; may contain {templates}
    severity* "critical" (loss or fault now) "warning" (costs now) "advice" (could be better) "info"
              Advice is a warning while its setting is seen to limit the flow that moves most.
    critical  a condition: where it is true too, the finding is critical (nothing gets through)
    harmless  a condition: where it is true too, the finding is advice (no effect now)
    over*     kind of target, a module of `facts/kinds`: host nic queue core flow process …
    when*     a condition (below); there is a finding if it is TRUE, none if it is false or unknown
    why*      2 to 5 short sentences: what happens, what it costs, what the change does, its risk
    links     kinds of interface: nic veth bond bridge vlan tunnel loopback wireless other.
              Default for nic, queue, path: ["nic"] (on a bus, real or paravirtual); for flow,
              process, capture: all but loopback; that too if what a program waits for is relieved
    profiles  bulk-lan bulk-wan latency capture server; default all
    hold      seconds for which `when` must be true (default 0); 3 or more for a rate of the last
              second; 0 where `events` counts
    keep      seconds for which what held counts as if it held on (default 0): of a state that
              comes and goes, as a lock that others hold for most of the time
    unless    [{ when = "…", say = "why there is no finding" }]; an unknown condition also prevents
              the finding: write known(x) and … to avoid this
    yields    ids of more specific rules: no finding where one of them holds on the same target,
              on the interface of the target, or on the host
    after     ids of rules whose finding explains this one: where one of them holds on the same
              target or interface, it takes the higher severity, comes first and is its cause
    show      more fields of evidence; the fields of `when` are always shown
    expected  the published effect and its conditions
    relieves  stages of nettop/facts/limits that limit less after the fix: sndbuf, core, ring …
              While one of them limits the target, the finding predicts the rate after the fix, and
              is listed before findings of its severity that predict less
    gain      the published effect as a ratio, 1.26 for +26 %; orders findings without a prediction.
              0: concerns correctness or safety, not speed; a test cannot show it, so `tune` names
              it and leaves it to `apply`
    [limits]  named numbers or lists of texts, used as limits.NAME; users can override them
    [[source]]*     paper or doc, place, figure; url and note optional. With if it is shown where
                    that holds. With because it is contrary advice: why it does not apply here
    [[fix]]         set + to, or advice; optional if, each, experiment, and relieves: of the stages
                    that the rule relieves, those that this fix does
    [[test]]*       at least one with a finding and one without; tests come LAST in file or case

A text may have several lines (triple quotes of TOML); they are joined. In the rules of nettop a
`paper` or `doc` is a name from `rules/papers.toml`.

Conditions and values are Python-like expressions. Names: the fact named by `over`, its parents
(queue: nic; flow: nic, queue, process; process: nic; capture: nic, process; path: nic), `host`,
`profile` (text), `limits`. Fields are those of `facts/kinds/*.py`, e.g. nic.per_s.ring_drops.
Allowed: and or not, == != < <= > >= (also chained), in / not in, + - * / // %, a if c else b,
numbers, 'text', tuples, x[2] with a constant, and these functions:

    on(nic, 'rx-gro') fixed(nic, 'rx-gro')   on / cannot be changed; unknown if not listed
    sysctl('net.ipv4.tcp_rmem')              number, tuple of numbers, or text; unknown if absent
    known(x)                                 whether x is known; the only test for this
    core(cpu)                                the Core with that number: core(queue.cpu).softirq
    min max abs round len any all            any and all take a tuple of conditions
    pow2(x)                                  the next power of two
    worst(nic.per_s.ring_drops, 60)          the maximum of the last 60 s of this run
    increase(nic.total.carrier_changes, 60)  how much a count grew in the last 60 s of this run
    events(host.udp_no_ports)                how many there were in the last 10 s; of a rate, or of
                                             a sum of rates
    mean(host.udp_no_ports)                  its mean in the last 10 s
    share(host.udp_no_ports, host.udp_in)    what failed / the sum of it and what got through, in
                                             the last 10 s
    since_boot(nic.per_s.ring_drops)         the count behind a rate of nic.per_s
    nth(cpus, i)                             the i-th of a tuple, modulo its length
    both(cpus, others)  without(cpus, x, …)  CPUs in both; CPUs less those (numbers or tuples)
    beside(cpu)                              the CPU for the application of packets on `cpu`:
                                             another core that shares its L2, else L3, else node
    spread(cpus, i)                          the i-th, modulo the length, siblings last: spread(
                                             nic.local_cpus, queue.number)
    own_cpus(queue.number, nic.tx_queues)    separate CPUs for each transmit queue
    cpu_list(cpus)                           (0, 1, 2, 8) as '0-2,8'; takes numbers or tuples
    triple(a, b, c), keep                    only in `to`: a sysctl's numbers; keep = unchanged
    text(x)                                  only in `to`: a number as text

A field with value None is *unknown*. Logic has three values: unknown and False is False, unknown or
True is True, any other use of an unknown is unknown; x / 0 is unknown. None cannot be written.

[[fix]] All with a true `if` apply, in order; the first fix for a setting is used.
    set  = "ring.rx@{nic}"      an address of a setting; {nic} {queue} {cpu} {pid} are names of
                                the target ({queue} is rx-0, so irq.affinity@{nic}/{queue})
    to   = "min(nic.ring.rx * 2, nic.ring.rx_max)"   always an expression: text is "'fq'", a switch
                                is "True" or "False" (canonical on / off), CPUs are numbers,
                                lists of them, or text such as "'0-3'"
    to   = { latency = "…", capture = "…", default = "…" }    by profile
    if   = "…"                  default: always; unknown counts as false
    each = "queue"              once for each queue of the nic (or core, nic); `queue` is known in
                                set, to and if
    experiment = true           a proposal to test (`p`), not a recommendation
    advice = "…"                text only; may contain {templates}; alone or with `if`, `each`
A value that is already set, or that the driver does not allow, is omitted.

Templates: {nic} {queue} {cpu} {pid} {process} {flow} are names; any other {expression} is its value
with its unit ({nic.ring.rx} is "256 descriptors"), "unknown" if unknown; a mean of more than the
last interval says of which time it is ("3 packets/s over 10 s"). {{ and }} are braces. They work in
title, why, expected, advice and say.

[[test]] compact facts; other fields have their default (mostly unknown). Names have defaults
(eth0, kind nic, rx-0, cpu 0 …), so a test has only the fields that matter:
    finds    = true             * whether there is a finding
    nic      = { ring = { rx = 256, rx_max = 4096 }, per_s = { ring_drops = 1204 },
                 features = { rx-gro = false, rx-lro = "fixed off" } }
    host = {…}  queue = {…}  core = {…}  flow = {…}  process = {…}  capture = {…}  path = {…}
    nics = [{…}, …]  queues = […]  cores = […]  flows = […] …       several of a kind
    sysctls  = { "net.ipv4.tcp_sack" = 0, "net.ipv4.tcp_rmem" = "4096 131072 6291456" }
    profile  = "bulk-lan"       default: the rule's first profile, or server
    before   = { nic = {…} }    facts of an earlier moment; ago = 30 (seconds)
    recorded = "hosts/NAME"     a recorded host (under tests/) instead of inline facts
    target   = "eth0"           look at this target only; the default is any
    wanted   = [["ring.rx@eth0", "512"]]    exactly the changes of the finding, in order
    advice   = "…"  silent = "…"  title = "…"    a part of the advice / why silent / title
    advice   = ["…", "…"]       a part of each advice, all of them in order; [] for none
    after    = 3                the finding begins after these seconds, not after half of them
    name     = "…"              what the test shows
A child implies its parent: queue = {…} alone also creates its nic.

[[case]] A file with cases holds one rule for each; the tables before the first are common to all.
    id       = "sack-refused-by-this-end"   the id of the rule; the name of the file is no id then
    words    = { option = "SACK" }          $option in any text of the file is this word; $$ is $
    title, severity, when …                 stand in place of the common text or number
    limits, show, yields …                  come after the common ones, as do [[case.source]],
                                            [[case.fix]], [[case.unless]] and [[case.test]]
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias, TypedDict

from ...facts.limits.following import Prediction
from ...terms.dataclass import dataclass
from ..language.expression import Expression
from ..language.syntax import Limits
from ..language.template import Template
from ..language.values import Value

LINKS: Final = (
    "nic", "veth", "bond", "bridge", "vlan", "tunnel", "loopback", "wireless", "other",
)  # fmt: skip
Cite: TypeAlias = Mapping[
    str, str
]  # paper or doc, place, figure, url, note; because in competing advice


@dataclass(frozen=True, slots=True)
class Unless:
    """A condition under which there is no finding, and the sentence that gives the reason."""

    when: Expression
    say: Template


@dataclass(frozen=True, slots=True)
class Fix:
    """One remedy: a setting and its value, or a text."""

    setting: Template | None = None
    to: Mapping[str, Expression] = field(default_factory=dict)  # by profile, or "default"
    when: Expression | None = None
    each: str | None = None
    experiment: bool = False
    advice: Template | None = None
    relieves: tuple[str, ...] = ()  # stages


@dataclass(frozen=True, slots=True)
class Words:
    """The texts and remedies of a rule; they are needed only for a finding."""

    title: Template
    why: Template
    expected: Template
    show: tuple[Expression, ...] = ()
    sources: tuple[Cite, ...] = ()
    applies: tuple[Expression | None, ...] = ()  # on which targets each source is shown
    competing: tuple[Cite, ...] = ()
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True)
class Rule:
    """One problem: condition, reason, remedies and sources."""

    id: str
    surface: str
    path: str
    severity: str
    over: str
    when: Expression
    later: Callable[[], Words] = field(compare=False, repr=False)
    critical: Expression | None = None  # where it holds too, the finding is critical
    harmless: Expression | None = None  # where it holds too, the finding is advice
    links: frozenset[str] | None = None  # None: every kind
    profiles: frozenset[str] | None = None  # None: every profile
    hold: float = 0.0
    keep: float = 0.0
    unless: tuple[Unless, ...] = ()
    yields: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    relieves: tuple[str, ...] = ()  # names of stages of `facts.limits.stages`
    gain: float = 1.0
    safety: bool = False
    limits: Limits = field(default_factory=dict)

    @cached_property
    def words(self) -> Words:
        """Parsed at the first access: few rules have a finding, and parsing takes 0.8 ms each."""
        return self.later()

    @property
    def changes(self) -> tuple[str, ...]:
        """The kinds of setting that its fixes change; none: it only says what to do."""
        kinds = (fix.setting.form().partition("@")[0] for fix in self.words.fixes if fix.setting)
        return tuple(dict.fromkeys(kinds))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A setting and its recommended canonical value; an experiment is a proposal to test."""

    setting: str
    value: str
    experiment: bool = False


class Evidence(TypedDict):
    """A field that a finding rests on, its value and the unit of the value."""

    field: str
    value: Value | None
    unit: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that holds on a target, with its evidence and remedies."""

    id: str  # rule@target
    rule: str
    target: str
    severity: str
    title: str
    why: str
    held: float  # seconds
    evidence: tuple[Evidence, ...]
    sources: tuple[Cite, ...]
    competing: tuple[Cite, ...]
    wanted: tuple[Wanted, ...]
    advice: tuple[str, ...]
    expected: str
    seen: bool = False  # a loss or saturation was measured, not only a setting
    relieves: tuple[str, ...] = ()  # stages: of its rule, those of the fixes that apply
    predicted: Prediction | None = None  # None: no stage that the fix relieves limits the target
    gain: float = 1.0
    safety: bool = False  # no test run can prove it
    cause: str = ""  # id of the finding that explains it
    also: tuple[str, ...] = ()  # other targets with the same cause: flows between the same ends
    about: tuple[str, ...] = ()  # what its fact names: `facts.kind.about`
    host: str = ""  # the other host (--peer), where the fix belongs; empty: this host


@dataclass(frozen=True, slots=True)
class Silent:
    """A rule without a finding on a target, and the reason."""

    rule: str
    target: str
    because: str
    applies: bool = True  # False: the rule is not for this target or profile


PAPERS: Final = "papers.toml"
OF_PAPERS: Final = ("paper", "doc")
References: TypeAlias = Mapping[str, str]  # short name → the full reference in one line


def references(pack: Path) -> References:
    """The full reference of every short name; empty if the folder has no table."""
    try:
        tables = tomllib.loads((pack / PAPERS).read_text(encoding="utf-8"))
    except OSError:
        return {}
    return {name: _line(one) for kind in OF_PAPERS for name, one in tables.get(kind, {}).items()}


def cited(rule: Rule) -> list[str]:
    """The short names that a rule cites, each once."""
    return list(dict.fromkeys(map(name, (*rule.words.sources, *rule.words.competing))))


def name(cite: Cite) -> str:
    """The short name of one source."""
    return cite.get("paper") or cite.get("doc") or ""


def citation(cite: Cite) -> str:
    """One source in one line: short name, place in it, figure."""
    return ": ".join(filter(None, (place(cite), cite.get("figure"))))


def place(cite: Cite) -> str:
    """The short name of one source and the place in it."""
    return ", ".join(filter(None, (name(cite), cite.get("place"))))


def full(rule: Rule, known: References) -> list[str]:
    """The full references of a rule's sources, in the order cited."""
    return [f"{short}: {known[short]}" for short in cited(rule) if short in known]


def _line(one: Mapping[str, object]) -> str:
    parts: Iterable[object] = (one.get(key) for key in ("authors", "title", "venue", "year"))
    text = ", ".join(str(part) for part in parts if part)
    text += f" ({one['note']})" if one.get("note") else ""
    return text + (f" <{one['url']}>" if one.get("url") else "")
