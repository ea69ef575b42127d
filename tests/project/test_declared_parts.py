"""Every part declares the names of its folder, correctly spelt. Each fault is one sentence."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from folded import folded
from sentences import no_fault

from nettop import collect, commands, panes, settings, trials
from nettop.collect import sysctls
from nettop.commands import _manual as manual
from nettop.facts.kinds import kinds
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.nic import Counters
from nettop.facts.limits import stages
from nettop.facts.limits.stage import Stage
from nettop.panes.declared import Pane
from nettop.terms.errors import nearest
from nettop.terms.modules import modules

REPO = Path(__file__).parents[2]
SRC = REPO / "src/nettop"
OF_PANES = {field.name: field.default is MISSING for field in fields(Pane)}
# required and optional names of a part, by folder; of a list in a docstring the first words
REQUIRED = {
    "collect": {"Row", "TABLE"},
    "settings": {"RISK", "read"},
    "panes": {name for name, required in OF_PANES.items() if required} | {"hints"},
    "commands": {"HELP", "arguments", "run"},
    "trials/tools": {"TOOL", "PACKAGE", "HELP", "measure"},
    "changes/export": {"ENDING", "ORDER", "write"},
    "advice/language/functions": {"FUNCTIONS"},
    "facts/limits/stages": {"STAGES", "readings"},
}
OPTIONAL = {
    "collect": {"read", "update", "parse"},
    "settings": set(re.findall(r"^    (\w+)(?:\(| {2})", settings.__doc__ or "", re.MULTILINE)),
    "panes": set(OF_PANES),
    "commands": {"GROUP"},
    "changes/export": {"ESCAPES"},
}  # fmt: skip
# of each of these a kind of setting declares one
EITHER = ({"write", "file"}, {"commands", "COMMAND", "file"}, {"limits", "LIMITS"})
# read in each frame: they have no interval, and the budget of a frame allows no more of them
EACH_FRAME = {
    "cpu", "interrupts", "link_stats", "meself", "netdev", "snmp", "sockets_tcp",
    "sockets_tcp_multipath", "softirqs", "softnet",
}  # fmt: skip
UNITS = set(
    "% C CPUs GT/s Hz bit/s bits blocks buckets buffers bytes calls channels connections cores "
    "dBm descriptors doublings entries errors events files flows fragments frames functions "
    "groups hops interfaces interrupts lanes lines ms neighbours networks nodes ns packages "
    "packets pages periods polls ports probes processes questions queues ratio records requests "
    "rings rules runs s samples segments sockets softirqs subflows switches tasks threads ticks "
    "us users wake-ups".split()
)
# statistics of drivers: each has its own unit
ANY_UNIT = {"ethstats", "nicstats_raw"}
# what a docstring names: a file of the kernel or its source, a call, a header, a manual page
ORIGIN = re.compile(r"/(?:proc|sys|etc|usr|run)\b|\w\.(?:[chS]|rst)\b|[A-Z]{3,}_[A-Z]|\w\(\d?\)")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def words() -> Mapping[str, int]:
    """How often each word occurs in the code."""
    texts = (path.read_text(encoding="utf-8") for path in SRC.rglob("*.py"))
    return Counter(word for text in texts for word in re.findall(r"\w+", text))


def declared(path: Path) -> Iterator[str]:
    """The names that a module defines or imports at its top level."""
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (one for target in targets for one in ast.walk(target))
            yield from (one.id for one in names if isinstance(one, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            yield from (one.asname or one.name for one in node.names)


def is_part(folder: str, names: set[str]) -> bool:
    """Panes share the modules of their folder that have no name of a pane."""
    return folder != "panes" or bool(names & {"KEY", "TITLE", "LEGEND", "NEEDS"})


def faults(folder: str) -> Iterator[str]:
    required = REQUIRED[folder]
    known = required | OPTIONAL.get(folder, set())
    for name in modules(str(SRC / folder)):
        found = set(declared(SRC / folder / f"{name}.py"))
        if not is_part(folder, found):
            continue
        where = f"src/nettop/{folder}/{name}.py"
        unknown = {one for one in found - known if not one.startswith("_") and words()[one] == 1}
        yield from (f"{where} lacks the required name `{one}`" for one in sorted(required - found))
        for one in sorted(unknown):
            yield f"{where} declares `{one}`, which nothing reads{nearest(one, sorted(known))}"


@folded("folder", sorted(REQUIRED))
def test_a_part_has_the_required_names_and_none_that_nothing_reads(folder: str) -> None:
    no_fault(faults(folder))


def test_the_lists_of_names_are_found() -> None:
    assert {"NIC", "keep", "side_effects"} <= OPTIONAL["settings"]


def without_help(folder: str) -> Iterator[str]:
    for name in modules(str(SRC / folder)):
        path = SRC / folder / f"{name}.py"
        if is_part(folder, set(declared(path))):
            first = (ast.get_docstring(tree(path)) or "").partition("\n")[0]
            if not first:
                yield f"src/nettop/{folder}/{name}.py has no docstring: say what it is"
            elif first[-1] not in ".:":
                yield f"src/nettop/{folder}/{name}.py: end the docstring's first line with . or :"


@folded("folder", sorted(REQUIRED))
def test_a_part_says_what_it_is(folder: str) -> None:
    no_fault(without_help(folder))


# --- collectors ----------------------------------------------------------------------------------


def of_collector(name: str) -> Iterator[str]:
    module, where = collect.collector(name), f"src/nettop/collect/{name}.py"
    if not module.TABLE.every and name not in EACH_FRAME:
        yield f"{where} has no interval: declare Table(every=10.0) (seconds between readings)"
    if not any(hasattr(module, one) for one in ("read", "update", "parse")):
        yield f"{where} lacks `read(source)`"
    if not ORIGIN.search(module.__doc__ or ""):
        yield f"{where}: name the kernel file and the kernel source in the docstring"
    row = getattr(module, "Row", None)
    frozen = getattr(getattr(row, "__dataclass_params__", None), "frozen", False)
    if row is not None and not frozen and not issubclass(row, tuple):
        yield f"{where}: Row needs @dataclass(frozen=True, slots=True)"


def test_a_collector_declares_its_interval_source_and_row() -> None:
    no_fault(one for name in collect.names() for one in of_collector(name))


def like(unit: str) -> str:
    """A suggestion for a misspelt unit; empty if none is similar."""
    found = get_close_matches(unit, sorted(UNITS), 1)
    return f" (did you mean {found[0]}?)" if found else ""


def of_fields(where: str, kind: type) -> Iterator[str]:
    for field in fields(kind):
        kind_of, unit = field.metadata.get("kind"), field.metadata.get("unit", "")
        if kind_of and not field.metadata.get("help"):
            yield f"{where}: {field.name} has no help"
        if kind_of in ("counter", "vector") and not unit and Path(where).stem not in ANY_UNIT:
            yield f"{where}: the counter {field.name} has no unit"
        if unit and unit.removesuffix("/s") not in UNITS and unit not in UNITS:
            yield (
                f"{where}: {field.name} has the unknown unit {unit!r}"
                f"{like(unit)}; UNITS of tests/project/test_declared_parts.py lists all"
            )


def test_a_field_of_a_row_or_fact_has_help_and_a_known_unit() -> None:
    rows = [(f"src/nettop/collect/{n}.py", collect.collector(n).Row) for n in collect.names()]
    facts = [(f"kind of fact {name}", kind.type) for name, kind in kinds().items()]
    no_fault(one for where, kind in (*rows, *facts) for one in of_fields(where, kind))


def test_every_field_of_a_row_is_declared() -> None:
    no_fault(
        f"src/nettop/collect/{name}.py: declare {field.name} with a function of frame/fields.py"
        for name in collect.names()
        for field in fields(collect.collector(name).Row)
        if field.metadata.get("kind") not in ("label", "counter", "gauge", "vector")
    )


# --- other parts ---------------------------------------------------------------------------------


def test_a_kind_of_fact_names_tables_that_exist() -> None:
    known = {*collect.names(), *kinds()}
    no_fault(
        f"kind of fact {name}: there is no collector {table!r}{nearest(table, collect.names())}"
        for name, kind in kinds().items()
        for table in sorted({*kind.needs, *kind.tables.values()} - known)
    )


def of_stage(stage: Stage) -> Iterator[str]:
    counters = [field.name for field in fields(Counters)]
    known = {
        "setting": [f"{kind}.{name}" for kind in settings.kinds()
                    for name in getattr(settings.kind(kind), "NAMES", ())],
        "most": sysctls.names(), "always": ("rx", "tx"), "implies": [*stages.declared()],
        "lost_rx": counters, "lost_tx": counters,
        "lost_here": [field.name for field in fields(HostFact)],
    }  # fmt: skip
    for field, names in known.items():
        value = getattr(stage, field)
        for name in value if isinstance(value, tuple) else filter(None, (value,)):
            if name not in names:
                told = f"stage {stage.name}: {field} has {name!r}, which is unknown"
                yield f"{told}{nearest(name, names)}"


def test_a_stage_names_settings_counters_and_stages_that_exist() -> None:
    no_fault(one for stage in stages.declared().values() for one in of_stage(stage))


@folded(
    ("field", "wrong", "near"),
    [("setting", "ring.rxx", "ring.rx"), ("most", "net.ipv4.tcp_wmen", "net.ipv4.tcp_wmem"),
     ("always", "r", "rx"), ("implies", "rcvbuff", "rcvbuf"), ("lost_tx", "tx_drop", "tx_dropped"),
     ("lost_rx", "ring_drop", "ring_drops"), ("lost_here", "rcvq_drop", "rcvq_drops")],
)  # fmt: skip
def test_a_misspelt_word_of_a_stage_is_told(field: str, wrong: str, near: str) -> None:
    ring = stages.declared()["ring"]
    value: Any = (wrong,) if isinstance(getattr(ring, field), tuple) else wrong
    told = f"stage ring: {field} has {wrong!r}, which is unknown (did you mean {near}?)"
    assert [*of_stage(replace(ring, **{field: value}))] == [told]


def of_setting(name: str) -> Iterator[str]:
    module, where = settings.kind(name), f"src/nettop/settings/{name}.py"
    risks = module.RISK.values() if isinstance(module.RISK, dict) else [module.RISK]
    for risk in sorted(set(risks) - set(settings.RISKS)):
        yield f"{where}: RISK {risk!r} is none of {', '.join(settings.RISKS)}"
    if not isinstance(getattr(module, "TARGETS", re.compile("")), re.Pattern):
        yield f"{where}: TARGETS is no pattern: write re.compile({module.TARGETS!r})"
    for names in EITHER:
        if not any(hasattr(module, one) for one in names):
            yield f"{where}: declare one of {', '.join(sorted(names))}"
    for function in ("read", "write", "file", "commands", "limits"):
        if not (getattr(module, function, settings).__doc__ or "").strip():
            yield f"{where}: {function} has no docstring"


def test_a_kind_of_setting_has_a_known_risk_and_says_what_its_functions_do() -> None:
    no_fault(one for name in settings.kinds() for one in of_setting(name))


def of_headings() -> Iterator[str]:
    for name in commands.names():
        module, where = commands.command(name), f"src/nettop/commands/{name}.py"
        if (group := getattr(module, "GROUP", "more")) not in manual.GROUPS:
            yield f"{where}: GROUP {group!r} is none of {', '.join(manual.GROUPS)}"
        if not module.HELP:
            yield f"{where}: HELP is empty"
    for name in trials.names():
        if not trials.tool(name).HELP:
            yield f"src/nettop/trials/tools/{name}.py: HELP is empty"


def test_a_command_and_a_tool_have_help_and_a_known_group() -> None:
    no_fault(of_headings())


def test_a_pane_needs_tables_that_exist() -> None:
    no_fault(
        f"src/nettop/panes/{name}.py: NEEDS has {table!r}, which is no collector"
        f"{nearest(table, collect.names())}"
        for name in panes.names()
        for table in {*panes.pane(name).NEEDS, *(panes.pane(name).DRAWS or ())} - {*collect.names()}
    )


def test_a_function_for_rules_is_defined_once() -> None:
    folder = "advice/language/functions"
    found = [
        (name, module)
        for module in modules(str(SRC / folder))
        for name in import_module(f"nettop.{folder.replace('/', '.')}.{module}").FUNCTIONS
    ]
    first = dict(reversed(found))
    no_fault(
        f"src/nettop/{folder}: {first[name]}.py and {module}.py define {name}: rename one"
        for name, module in found
        if first[name] != module
    )


def test_a_digit_opens_one_pane() -> None:
    first: dict[str, str] = {}
    for name in panes.names():
        first.setdefault(panes.pane(name).KEY, name)
    no_fault(
        f"src/nettop/panes/{name}.py: KEY {panes.pane(name).KEY!r} opens {other} already"
        for name in panes.names()
        if (other := first[panes.pane(name).KEY]) != name
    )


# a word that a test uses: quoted, after a dot or slash, before a dot, imported, in a command line
USED = re.compile(r"""["'./]([\w-]+)|\bnettop ([\w-]+)|([\w-]+)\.\w|\bimport (\w+)|\bas (\w+)""")


@cache
def used(path: Path) -> set[str]:
    """The words that a test uses, and the name of its file; a word of a sentence is none."""
    found = USED.findall(path.read_text(encoding="utf-8"))
    return {path.stem.removeprefix("test_"), *(word for hit in found for word in hit)}


@folded(
    ("folder", "tests"),
    [("collect", "collect"), ("settings", "settings"), ("panes", "panes"),
     ("trials/tools", "trials"), ("changes/export", "changes"), ("commands", "commands")],
)  # fmt: skip
def test_every_part_has_a_test(folder: str, tests: str) -> None:
    paths = (one for one in (REPO / "tests").rglob("*.py") if one != Path(__file__))
    tested = {word for path in paths for word in used(path)}
    no_fault(
        f"src/nettop/{folder}/{name}.py has no test: add tests/{tests}/test_{name}.py"
        for name in modules(str(SRC / folder))
        if is_part(folder, set(declared(SRC / folder / f"{name}.py")))
        and not {name, name.replace("_", "-")} & tested
    )


def test_a_word_of_a_sentence_is_no_test(tmp_path: Path) -> None:
    file = tmp_path / "test_uptime.py"
    file.write_text('"""Counters of the protocols."""\nfrom nettop.collect import snmp\n')
    assert {"uptime", "snmp"} <= used(file)
    assert "protocols" not in used(file)
