"""Measure whether a change helps: test with and without it in turn, keep it only if it is better.

  nettop prove rx-ring-overrun@eth0 --to 10.0.0.2 --peer "ssh host2"
  nettop prove sysctl.net.ipv4.tcp_sack=1 --to 10.0.0.2 --peer "ssh host2"

A finding may be one of the other host: its nettop then makes the change there, under its guard.

The experiment runs at least five pairs (--pairs), or three if the effect is clear. It continues
until the confidence interval is narrow, --budget is spent or --most pairs are done. The verdict
is `better` if the interval of the median difference excludes zero, the gain exceeds 3 %, and
drops and retransmits do not increase, or by little beside the gain. With any other verdict, and
if the command is cancelled or killed, the change is reverted. Exit code 0: better and kept; 1:
any other verdict.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..files import own
from ..host.source import HostLostError, Live, Source
from ..terms.errors import Refused, nearest, sentence
from . import duration_argument, enter_netns_of, netns_argument, profile_argument, report_faults
from ._argument import assignment, assigns, change, whole
from ._report import format_argument, format_of, print_report
from .test import clear_progress, options_of, show_progress, stopper, trial_arguments

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..host.distant import Distant
    from ..trials.prove import Bench
    from ..trials.tune import Offer
    from ..views.observer import Observer

T = TypeVar("T")
STARTING = 30.0  # seconds to wait for the traffic of a trial
HELD = 2.0  # seconds that a finding must hold before it is tested
GROUP = "prove"
HELP = "measure a change against the current state, keep it only if better"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "what", nargs="+", type=change, metavar="RULE@TARGET", help="a finding, or SETTING=VALUE …"
    )
    bench_arguments(parser)
    parser.add_argument(
        "--no-keep", action="store_true", help="revert the change even if it is better"
    )
    profile_argument(parser)
    duration_argument(parser, "--look", "how long to look for the finding (6)", 6.0)
    format_argument(parser)
    netns_argument(parser)


def bench_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the measurement and its length."""
    trial_arguments(parser)
    add = parser.add_argument
    add("--tool", metavar="TOOL", help="test tool (bulk; capture for findings about captures)")
    add("--metric", metavar="NAME", help="metric: rate, p50, p99, delivered or per-core")
    add(
        "--pairs",
        type=whole(1),
        metavar="N",
        help="minimum number of pairs of runs (5; of a clear effect 3)",
    )
    add("--most", type=whole(1), metavar="N", help="maximum number of pairs of runs (21)")
    duration_argument(parser, "--budget", "time limit of the experiment: 90s, 10m")


def bench_of(args: argparse.Namespace, *, sweeps: bool = False) -> Bench:
    """The test bench that the arguments describe; `sweeps`: of several values."""
    from .. import trials
    from ..trials import experiment, prove, statistics

    tool = args.tool or prove.fitting(getattr(args, "what", [""])[0])
    if tool not in trials.names():
        raise Refused(f"no test tool {tool!r}{nearest(tool, trials.names())}", 2)
    if args.metric is not None and args.metric not in experiment.METRICS:
        raise Refused(f"no metric {args.metric!r}{nearest(args.metric, experiment.METRICS)}", 2)
    enter_netns_of(args)
    if os.geteuid() != 0:
        raise Refused(f"an experiment changes settings: {own.called_as_root()} …", 4)
    on = prove.bench(
        tool, options_of(args), metric=args.metric, pairs=args.pairs, most=args.most,
        budget=args.budget, watch=show_progress, cancel=stopper(),
    )  # fmt: skip
    fewest = on.plan.fewest(sweeps=sweeps)
    print(statistics.pairs_sentence(fewest, on.plan.most), file=sys.stderr)
    return on


def run(args: argparse.Namespace) -> int:
    """Run the experiment and print the verdict."""
    from ..trials import prove, tune

    form = format_of(args)
    on = bench_of(args)
    offer = _offer(args, on)
    document = attempt(lambda: tune.proof(offer, on, keep=not args.no_keep))
    print_report("prove", document, form, prove.describe)
    return 0 if document["verdict"] == "better" else 1


def attempt(work: Callable[[], T], *, after: str = "") -> T:
    """The result of an experiment; its errors become Refused. `after`: what to do if cancelled."""
    from ..trials.end import Cancelled, PeerError
    from ..trials.lever import LeverError
    from ..trials.run import TrialError

    try:
        return work()
    except Cancelled:
        raise Refused(f"cancelled; all changes are reverted{after}", 4) from None
    except (PeerError, TrialError) as error:
        raise Refused(f"{error}; all changes are reverted", 3) from None
    except LookupError as error:
        raise Refused(sentence(error), 2) from None
    except (LeverError, OSError, ValueError) as error:
        raise Refused(sentence(error), 4) from None
    finally:
        clear_progress()


def _offer(args: argparse.Namespace, on: Bench) -> Offer:
    """What to test: given settings, or those of a finding that holds while idle or under load.

    It is a finding of this host or else of the other end, whose settings are tested there. What
    limits the test, and so the prediction, is known only under its load.
    """
    from ..trials import prove
    from ..trials.tune import Offer

    if all(map(assigns, args.what)):
        return Offer(" ".join(args.what), "", [assignment(word) for word in args.what])
    if len(args.what) > 1 or "@" not in args.what[0]:
        raise Refused(f"{' '.join(args.what)!r} is neither RULE@TARGET nor SETTING=VALUE", 2)
    finding = args.what[0]
    _not_applied(finding)
    there = _other_end(on)
    current = _findings(args, finding, there=there)
    one = _called(finding, current)
    if one is None:
        _not_applied_there(finding, there)
        print("no such finding while idle; looking again while a test runs", file=sys.stderr)
    sides = (False, True) if one is None and there else (bool(one and one.host),)
    for away in sides if one is None or (one.relieves and one.wanted) else ():
        loaded = prove.facing(on, _settings(finding), away=away)
        look = partial(_findings, args, finding, predicted=True, there=there)
        current |= under_load(loaded, args.look, look)
        one = _called(finding, current)
        if one is not None:
            break
    if one is None:
        where = "of both ends" if there else "on this host"
        raise Refused(f"no finding {finding!r} {where} now{nearest(finding, current)}", 2)
    if not one.wanted:
        raise Refused(f"{one.id} has no setting to change, so there is nothing to test", 4)
    if one.host:
        print(f"{finding} is a finding of {one.host}: it is proved there", file=sys.stderr)
    return offered(one, there)


def _called(name: str, findings: Mapping[str, Finding]) -> Finding | None:
    """The finding with this name, of this host first."""
    far = (one for one in findings.values() if one.host and one.id == f"{name} at {one.host}")
    return findings.get(name) or next(far, None)


def _not_applied(finding: str) -> None:
    """Refuse a finding whose fix is in force by a change of nettop: there is nothing to test."""
    from ..changes.journal import Journal
    from ..changes.namespaces import Survey
    from ..changes.status import overtaken
    from ..settings import Host

    try:
        entries = Journal().entries()
        made = [e for e in entries if e.open and not (e.keeper or e.undoes) and e.after is not None]
        made = [e for e in made if f" {finding} " in f" {e.finding} "]
        host, survey = Host.at(), Survey()
        ids = [str(e.id) for e in made if not overtaken(e, host, entries, survey)]
    except OSError:
        return  # the experiment says what is wrong with the journal
    _refuse_applied(ids, "", own.called())


def _not_applied_there(finding: str, there: Distant | None) -> None:
    """The same of the other end, by the journal of the nettop there."""
    from ..changes.remote import MADE, Remote

    if there is None:
        return
    remote = Remote(there.prefix, root=there.root)
    with suppress(OSError):  # the proof says why it cannot ask there
        made = [one for one in remote.journal() if one.get("state") in MADE]
        ids = [str(one["id"]) for one in made if f" {finding} " in f" {one.get('finding')} "]
        _refuse_applied(ids, f" at {there.host}", remote.way)


def _refuse_applied(ids: Sequence[str], where: str, called: str) -> None:
    """Refuse where changes with these numbers have made the fix; `called`: the nettop there."""
    if ids:
        change, has = ("change", "has") if len(ids) == 1 else ("changes", "have")
        who = f"{change} {', '.join(ids)}{where} {has}"
        raise Refused(f"{who} applied it: {called} undo {' '.join(ids)} first", 4)


def _settings(finding: str) -> list[str]:
    """What the rule of a finding sets, as templates; Refused if there is no such rule."""
    from .rules import rule_named

    fixes = rule_named(finding.partition("@")[0]).words.fixes
    return [fix.setting.form() for fix in fixes if fix.setting is not None]


def offered(finding: Finding, there: Distant | None = None) -> Offer:
    """A finding with the settings to test and its prediction; `there` is the other end."""
    from ..trials.elsewhere import lever
    from ..trials.tune import Offer

    wanted = [(one.setting, one.value) for one in finding.wanted]
    away = None
    if finding.host and there is not None:
        away = partial(lever, there, wanted, finding.id.removesuffix(f" at {finding.host}"))
    advice = " ".join(finding.advice[:1])
    return Offer(finding.id, finding.title, wanted, finding.safety, finding.predicted, away, advice)


def _findings(
    args: argparse.Namespace,
    wanted: str = "",
    *,
    predicted: bool = False,
    there: Distant | None = None,
) -> dict[str, Finding]:
    """Findings that held for HELD seconds, by id; returns early once `wanted` is one of them.

    With `predicted`, it must have its prediction too, if its rule makes predictions. Those of the
    other end have its name.
    """
    findings: dict[str, Finding] = {}
    for judged in _judged(args, there):
        findings |= {finding.id: finding for finding in judged}
        found = _called(wanted, findings)
        if found is not None and not (predicted and found.relieves and found.predicted is None):
            break
    return findings


def _judged(args: argparse.Namespace, there: Distant | None) -> Iterator[Sequence[Finding]]:
    """The findings of this host, and of the other end, from moment to moment."""
    from ..views import both
    from ..views.observer import watch

    here = Live()
    if there is not None:
        view = both.Observers(here, there, (_observer(here, args), _observer(there, args)))
        try:
            for _, _, (own, far) in view.judged(args.look):
                theirs = (both.named(one, view.hosts[1]) for one in far.judgement.findings)
                yield (*own.judgement.findings, *theirs)
        except both.SameHostError:
            pass
        else:
            return
    for observation in watch(_observer(here, args), args.look):
        yield observation.judgement.findings


def _observer(source: Source, args: argparse.Namespace) -> Observer:
    """The observer of a host, for findings that held for HELD seconds."""
    from ..config import ConfigError
    from ..views.observer import Observer

    try:
        observer = Observer(source, profile=args.profile, window=min(HELD, args.look))
    except (ConfigError, ValueError) as error:
        raise Refused(str(error), 2) from None
    report_faults(observer.faults)
    return observer


def offers(args: argparse.Namespace, on: Bench) -> list[Offer]:
    """The findings of both ends under load, largest predicted gain first.

    Those without a setting to test come last; those that call for nothing are left out.
    """
    there = _other_end(on)
    findings = under_load(on, args.look, lambda: _findings(args, there=there)).values()

    def gains(finding: Finding) -> tuple[bool, float, float]:
        predicted = finding.predicted
        return (not finding.wanted, 0.0 if predicted is None else -predicted.gain, -finding.gain)

    todo = (one for one in findings if one.wanted or one.advice)
    return [offered(one, there) for one in sorted(todo, key=gains)]


def _other_end(on: Bench) -> Distant | None:
    """The host of the peer; None if it is this one or cannot be read, which is said."""
    from ..host.distant import behind
    from ..trials.ends import LOCAL

    peer = on.options.peer
    if peer in (None, LOCAL):
        return None
    try:
        return behind(str(peer))
    except (HostLostError, ValueError) as error:
        print(f"only this end is looked at: {error}", file=sys.stderr)
        return None


def under_load(on: Bench, seconds: float, look: Callable[[], T]) -> T:
    """The result of `look` while a trial runs: most problems show only under load."""
    import threading
    import time
    from dataclasses import replace

    from ..trials import run as runner
    from ..trials.end import Cancelled, PeerError

    over, flows = threading.Event(), threading.Event()
    options = replace(on.options, seconds=seconds + 4, warmup=0.0)

    def load() -> None:
        try:
            runner.run(on.tool, options, lambda _: flows.set(), over)
        except (PeerError, runner.TrialError, Cancelled, OSError):
            return  # the experiment itself will report this error
        finally:
            flows.set()

    thread = threading.Thread(target=load)
    thread.start()
    try:
        begun = time.monotonic()  # a trial reports its first second after it has passed
        while not flows.wait(0.1) and not on.cancel.is_set():
            if time.monotonic() > begun + STARTING:
                break
        return look()
    finally:
        over.set()
        thread.join()
