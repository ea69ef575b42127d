"""List, show, check and test the rules.

    nettop rules list                    every rule, by surface
    nettop rules show RULE               one rule as text, with its sources
    nettop rules check [PATH…]           validate files (a file or a folder; default: all)
    nettop rules test [PATH…]            validate files and run the tests of each rule
    nettop rules language [KIND…]        how a rule is written; the fields of a kind of fact

Put your own rules into ~/.config/nettop/rules/ or /etc/nettop/rules/. A rule with the id of a
packaged rule replaces it. Exit code 1: a test failed; 2: a file is invalid.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from ..terms.dataclass import picked
from ..terms.errors import Refused, nearest
from ..terms.units import many
from . import emit, json_argument, print_lines, report_faults

if TYPE_CHECKING:
    from ..advice.judge.rule_tests import Recorded, RuleTestResult
    from ..advice.language.vocabulary import Word
    from ..advice.rules.rule import Rule
    from ..facts import Facts

HELP = "list, show, check and test the rules; how one is written"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("what", choices=("list", "show", "check", "test", "language"))
    parser.add_argument("names", nargs="*", metavar="RULE|PATH|KIND")
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="list: print Markdown, the source of rules/README.md",
    )
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand. Exit code 1: a test failed, 2: a file is invalid."""
    if args.what == "list":
        return _list(args)
    if args.what == "show":
        return _show(args)
    if args.what == "language":
        return _language(args)
    return _check(args)


def _language(args: argparse.Namespace) -> int:
    """Print the format of a rule file, or the fields of kinds of fact."""
    from ..advice.language.vocabulary import KINDS, words
    from ..advice.rules import rule

    if args.json:
        raise Refused("rules language prints text: leave out --json", 2)
    for name in args.names:
        if name not in KINDS:
            raise Refused(f"no kind of fact {name!r}{nearest(name, KINDS)}", 2)
        print_lines(*_fields(name, words(KINDS[name])))
    if not args.names:
        print_lines(*(rule.__doc__ or "").rstrip().splitlines(), "")
        print_lines("`nettop rules language KIND` lists the fields of a kind of fact:")
        print_lines(*wrap(" ".join(KINDS), 96))
    return 0


def _fields(base: str, known: Mapping[str, Word]) -> Iterator[str]:
    """`nic.mtu  bytes  maximum transmission unit`, those of nested facts too."""
    from ..advice.language.vocabulary import words

    for name, word in known.items():
        if word.kind is not None:
            yield from _fields(f"{base}.{name}", words(word.kind))
        else:
            yield f"{base}.{name:<24} {word.unit or word.type:<12} {word.help}"


def every_rule() -> tuple[Rule, ...]:
    """All rules with the user's thresholds; an invalid file of the user is reported and ignored."""
    from .. import config
    from ..advice.rules.load import RuleError, load

    settings = config.load()
    report_faults(settings.faults)
    try:
        return load(
            config.rule_folders(), settings.limits, tell=lambda fault: report_faults((fault,))
        )
    except RuleError as error:
        raise Refused(str(error), 2) from None


def rule_named(name: str) -> Rule:
    """The rule with that id; Refused, with the most similar id, for an unknown one."""
    rules = {rule.id: rule for rule in every_rule()}
    if name not in rules:
        raise Refused(f"no rule {name!r}{nearest(name, rules)}", 2)
    return rules[name]


def _list(args: argparse.Namespace) -> int:
    from ..advice.rules import explain

    rules = every_rule()
    if args.markdown:
        print(explain.index(rules), end="")
    elif args.json:
        emit({"rules": [explain.summary(rule) for rule in rules]})
    else:
        surface = ""
        for rule in sorted(rules, key=lambda one: (one.surface, one.id)):
            if rule.surface != surface:
                surface = rule.surface
                print(f"\n{surface}" if surface else "")
            title = explain.plain(rule.words.title.general(rule.limits))
            change = "change" if rule.changes else "words"
            print(f"  {rule.severity:<8} {rule.id:<34} {change:<6} {title}")
        able = sum(bool(rule.changes) for rule in rules)
        print(
            f"\n{len(rules)} rules: {able} with a change for nettop to make, the others with words"
        )
    return 0


def _show(args: argparse.Namespace) -> int:
    from .. import config
    from ..advice.rules import explain
    from ..advice.rules.rule import references

    if not args.names:
        raise Refused("no rule given; nettop rules list prints all", 2)
    rules = [rule_named(name) for name in args.names]
    if args.json:
        emit({"rules": [explain.data(rule) for rule in rules]})
    else:
        known = references(config.rules_folder())
        print("\n".join(line for rule in rules for line in explain.page(rule, known=known)))
    return 0


def paths(names: Sequence[str]) -> list[Path]:
    """The given rule files; without any, the files of all rule folders."""
    from .. import config
    from ..advice.rules.load import files

    every: list[Path] = []
    for path in [Path(name) for name in names] or config.rule_folders():
        if not path.exists():
            raise Refused(f"no such file or folder: {path}", 2)
        every += files(path) if path.is_dir() else [path]
    return every


def _check(args: argparse.Namespace) -> int:
    from ..advice.judge.rule_tests import check
    from ..advice.rules.load import RuleError, read
    from ..advice.rules.settings import check as check_addresses

    faults: list[str] = []
    outcomes: list[RuleTestResult] = []
    files, rules = paths(args.names), 0
    for path in files:
        try:
            for rule in read(path):
                rules += 1
                check_addresses(rule)
            outcomes += check(path, recorded(path.resolve()))
        except RuleError as error:
            faults.append(str(error))
    if args.what == "check":
        outcomes = []
    absent = sum(bool(one.absent) for one in outcomes)
    outcomes = [one for one in outcomes if not one.absent]
    failed = [one for one in outcomes if not one.passed]
    if args.json:
        tests = [picked(o, "rule number name passed why") for o in outcomes]
        emit({"files": len(files), "wrong": faults, "tests": tests, "not_run": absent})
    else:
        for fault in faults:
            print(fault, file=sys.stderr)
        for one in failed:
            print(f"{one.rule}: test {one.number} ({one.name}): {one.why}")
        tests_text = f", {len(outcomes)} tests, {len(failed)} failed" if outcomes else ""
        tests_text += f", {absent} not run (recording not installed)" if absent else ""
        print(f"{many(rules, 'rules')}, {len(faults)} wrong{tests_text}")
    return 2 if faults else int(bool(failed))


def recorded(path: Path) -> Recorded:
    """A reader of recordings for rule tests, from the rule's folder or tests/ of a checkout."""

    def moments(name: str, profile: str | None) -> Sequence[Facts]:
        from ..advice.judge.inline_facts import InlineError, NoRecordingError
        from ..host.recording import RecordingError

        places = [path.parent / name, *(folder / "tests" / name for folder in path.parents)]
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            raise NoRecordingError(f"no recording {name}")
        try:
            return _moments(file, profile)
        except (OSError, RecordingError) as error:
            raise InlineError(f"{file}: {error}") from None

    return moments


@lru_cache(maxsize=32)
def _moments(path: Path, profile: str | None) -> tuple[Facts, ...]:
    """The facts of a recording, cached because many rules use the same one."""
    from ..facts.joined import Joiner, needs
    from ..host.recording import Replay, load
    from ..sampling.sampler import frames

    source, joiner = Replay(load(str(path))), Joiner()
    return tuple(joiner.build(frame, profile=profile) for frame in frames(source, needs, lambda: 1))
