"""Change settings.

nettop set ring.rx@eth0 4096 --dry-run            show the change, write nothing
nettop set ring.rx@eth0 4096 ring.tx@eth0 4096    two settings, one confirmation
nettop set sysctl.net.ipv4.tcp_sack 1 --keep      also after the next boot

Each change is written to the journal, then to the host, and read back; `nettop undo` reverts it. A
change that may interrupt the link, or that is on the device of this SSH session, reverts
automatically unless it is confirmed with Enter or `nettop confirm`. Several settings of one command
are confirmed, or revert, together. A value of a sysctl that a rule condemns needs `--anyway`.
`--keep` makes the changes persistent across reboots. With `--hold` the changes are reverted at the
end of standard input: another host tests them this way.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..files import own
from ..host.source import Live, Source
from ..terms.errors import Refused, sentence
from . import (
    absent,
    duration_argument,
    emit,
    json_argument,
    must_be_live,
    open_source,
    source_arguments,
)
from ._argument import ip_address

if TYPE_CHECKING:
    from ..changes import Change, Result
    from ..changes.journal import Journal


GROUP = "change"
HELP = "change settings; nettop undo reverts them"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("setting", metavar="SETTING", help="kind.name@target")
    parser.add_argument("value", type=str, metavar="VALUE", help="on, off, a number, a CPU list …")
    parser.add_argument(
        "more", nargs="*", default=[], type=str, metavar="SETTING VALUE", help="further settings"
    )
    change_arguments(parser)
    parser.add_argument(
        "--before", action="append", type=str, metavar="VALUE",
        help="refuse unless this is the current value; once for each setting, in their order",
    )  # fmt: skip
    parser.add_argument(
        "--identity", action="append", type=str, metavar="TEXT",
        help="refuse for another device or process of that name; once for each setting",
    )  # fmt: skip
    parser.add_argument(
        "--anyway", action="store_true", help="also a value that a rule condemns (exit code 4)"
    )
    parser.add_argument("--finding", help="finding to name in the journal")
    duration_argument(
        parser, "--hold", "revert when standard input ends, or is silent for this time"
    )
    ssh_argument(parser)
    json_argument(parser)
    source_arguments(parser, writes="--dry-run")


def change_arguments(parser: argparse.ArgumentParser) -> None:
    """--dry-run, --confirm and --keep."""
    parser.add_argument("--dry-run", action="store_true", help="show the changes, write nothing")
    confirm_argument(parser)
    parser.add_argument(
        "--keep", action="store_true", help="also make the changes persistent across reboots"
    )


def confirm_argument(parser: argparse.ArgumentParser) -> None:
    """--confirm: how long a risky change waits."""
    duration_argument(
        parser, "--confirm", "revert a risky change unless confirmed within this time (30s)", 30.0
    )


def ssh_argument(parser: argparse.ArgumentParser) -> None:
    """--ssh-peer: the other end of the SSH session, if the environment does not name it."""
    parser.add_argument(
        "--ssh-peer", type=ip_address, metavar="ADDRESS",
        help="address of the other end of the SSH session",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Change it. Exit code 2: unknown or invalid, 4: not done, 5: reverted."""
    from .. import settings
    from ..views import condemned

    source = open_source(args)
    if not args.dry_run:
        must_be_live(source, "nettop set")
    words = [args.setting, args.value, *args.more]
    if len(words) % 2:
        raise Refused(f"{words[-1]} lacks its value: nettop set SETTING VALUE …", 2)
    if args.before and len(args.before) != len(words) // 2:
        raise Refused("--before is given once for each setting, in their order", 2)
    if args.identity and len(args.identity) != len(words) // 2:
        raise Refused("--identity is given once for each setting, in their order", 2)
    try:
        addresses = [str(settings.parse(text)) for text in words[::2]]
    except LookupError as error:
        raise Refused(sentence(error), 2) from None
    wanted = list(zip(addresses, words[1::2], strict=True))
    machine = args.before or args.hold is not None  # another nettop has shown it to the user
    doubts = () if machine else condemned.doubts(source, wanted)
    if doubts and not args.anyway and not args.dry_run:
        raise Refused(f"{'; '.join(doubts)}: --anyway sets it all the same", 4)
    return change(wanted, args, source, doubts)


def change(
    wanted: Sequence[tuple[str, str]], args: argparse.Namespace, source: Source,
    doubts: Sequence[str] = (),
) -> int:  # fmt: skip
    """Plan the wanted settings, then print or apply the plan, with these doubts about it."""
    from dataclasses import replace

    from .. import settings
    from ..changes import Change, Result, owners, privilege
    from ..changes.plan import forecast, plan, unfit

    try:
        changes = plan(wanted, source)
    except ValueError:
        return finish(unfit(wanted, source), (), as_json=args.json)
    except LookupError as error:
        raise Refused(sentence(error), 2) from None
    except OSError as error:
        unknown = absent(source, settings.parse(wanted[0][0]), error)
        raise unknown or Refused(sentence(error), 4) from None
    expected = getattr(args, "before", None) or ()
    before = {
        text: " ".join(value.split()) for (text, _), value in zip(wanted, expected, strict=False)
    }
    shown = dict(zip((s for s, _ in wanted), getattr(args, "identity", None) or (), strict=False))
    changes = tuple(
        replace(c, before=before.get(c.setting, c.before), identity=shown.get(c.setting, ""))
        for c in changes
    )
    wanted = [(text, settings.normal(settings.parse(text), value)) for text, value in wanted]
    as_root = any(privilege.needed(settings.parse(text)) for text, _ in wanted)
    if args.keep and as_root and not args.dry_run:
        # root writes the file; a setting that already has its value needs the file too
        current = {c.setting: c.before for c in changes}
        changes = tuple(Change(text, current.get(text, value), value) for text, value in wanted)
    planned = {c.setting for c in changes}
    already = tuple(
        _already(Result(text, value, value, "unchanged", after=value), source)
        for text, value in wanted
        if text not in planned
    )
    notes = [*doubts]
    notes += [note for c in changes for note in owners.notes(source, c.setting)]
    notes += [
        note for c in changes for note in settings.warns(source, settings.parse(c.setting), c.after)
    ]
    if args.dry_run:
        planned_results = already + tuple(forecast(change, source) for change in changes)
        return _dry(planned_results, wanted, notes, args, source)
    if getattr(args, "hold", None) is not None:  # `nettop apply` has no such option
        return hold(changes, args, lambda r: finish([*already, *r], (), as_json=args.json))
    results = already
    if changes:
        results += _apply(changes, args, source, notes)
    if args.keep and os.geteuid() == 0:
        results += _keep(wanted, results, args, source)
    return finish(results, notes, as_json=args.json)


def _already(result: Result, source: Source) -> Result:
    """A setting that has the wanted value already, with a note if a pending change set it.

    Without the note where the journal cannot be read.
    """
    from ..changes.apply import so_already
    from ..changes.journal import Journal
    from ..settings import Host

    if not source.live:
        return result
    try:
        return so_already(result, Host(source=source), Journal())
    except OSError:
        return result


def finish(
    results: Sequence[Result], notes: Sequence[str], *, as_json: bool,
    files: Mapping[str, str] | None = None,
) -> int:  # fmt: skip
    """Print the results; returns the exit code."""
    from ..changes import report

    if as_json:
        document: dict[str, object] = {"changes": [result.json() for result in results]}
        if notes:
            document["notes"] = list(dict.fromkeys(notes))
        if files:
            document["files"] = files
        emit(document)
    else:
        report.show(results)
    return report.code(results)


def _dry(
    results: Sequence[Result], wanted: Sequence[tuple[str, str]], notes: Sequence[str],
    args: argparse.Namespace, source: Source,
) -> int:  # fmt: skip
    """Print the planned results in the form of the real run."""
    from ..changes import persist, report
    from ..terms.text import safe

    results = [_to_confirm(result, args, source) for result in results]
    files: dict[str, str] = {}
    if args.keep and not report.code(results):
        if any(result.because for result in results):
            notes = [*notes, "--keep needs a confirmed change: confirm, then repeat with --keep"]
        kept = persist.forecasts(wanted, source)
        pairs = zip(wanted, kept, strict=True)
        files = persist.preview([pair for pair, file in pairs if file.state == "planned"], source)
        results = [*results, *kept]
    if args.json:
        return finish(results, notes, as_json=True, files=files)
    report.show(results)
    for note in dict.fromkeys(notes):
        print(safe(f"note: {note}"))
    for path, text in files.items():
        print(safe(f"would write {path}:"))
        print("\n".join("    " + safe(row) for row in text.splitlines()))
    return report.code(results)


def _to_confirm(result: Result, args: argparse.Namespace, source: Source) -> Result:
    """The planned result; its note says if the change would need confirmation."""
    from dataclasses import replace

    from .. import settings
    from ..changes.apply import reverts

    if result.state != "planned":
        return result
    carries = carriers(args, source) if source.live else ()
    within = f"unless confirmed within {args.confirm:g} s"
    return replace(result, because=reverts([settings.parse(result.setting)], carries, within))


def carriers(args: argparse.Namespace, source: Source) -> tuple[str, ...]:
    """The interfaces of this SSH session."""
    from ..changes import ssh

    return ssh.carriers(source, peer_of(args))


def peer_of(args: argparse.Namespace) -> str | None:
    """The other end of this SSH session."""
    from ..host.session import ssh_peer

    peer: str | None = getattr(args, "ssh_peer", None) or ssh_peer()
    return peer


def open_journal(notes: Sequence[str]) -> Journal:
    """The journal, after its messages and these notes are printed; Refused if it is unusable."""
    from ..changes.journal import Journal
    from ..changes.unguarded import notices
    from ..terms.text import safe

    journal = Journal()
    try:
        for note in (*notices(journal), *dict.fromkeys(notes)):
            print(safe(f"nettop: {note}"), file=sys.stderr)
        journal.mark_shown()
    except OSError as error:
        raise Refused(f"the journal cannot be used: {sentence(error)}", 4) from None
    return journal


def _apply(
    changes: Sequence[Change], args: argparse.Namespace, source: Source, notes: Sequence[str]
) -> tuple[Result, ...]:
    from dataclasses import replace

    from .. import settings
    from ..changes import privilege, report
    from ..changes.apply import Terms, apply

    if any(privilege.needed(c.address) for c in changes):
        options = privilege.options(args.confirm, finding=args.finding or "", peer=peer_of(args))
        options += ["--keep"] if args.keep else []
        return tuple(
            result
            if result.shell
            else replace(
                result,
                shell=settings.shell(settings.parse(result.setting), result.wanted, source),
            )
            for result in privilege.as_root(changes, options)
        )
    journal = open_journal(notes)
    terms = Terms(args.finding or "", confirm=args.confirm, carries=carriers(args, source))
    host = settings.Host(source=source)
    results = apply(changes, host, journal, terms)
    if not args.json:
        results = report.await_enter(journal, results)
    return results


def _keep(
    wanted: Sequence[tuple[str, str]], results: Sequence[Result], args: argparse.Namespace,
    source: Source,
) -> tuple[Result, ...]:  # fmt: skip
    """Write the files that make the change persistent; refused while it is unconfirmed."""
    from ..changes import persist, report
    from ..changes.journal import Journal
    from ..settings import Host

    if any(result.state == "pending" for result in results):
        print(
            "nettop: not persistent yet: confirm the change, then repeat with --keep",
            file=sys.stderr,
        )
        return ()
    if report.code(results):
        return ()
    return persist.keep(wanted, Host(source=source), Journal(), args.finding or "")


def hold(
    changes: Sequence[Change], args: argparse.Namespace, show: Callable[[Sequence[Result]], int]
) -> int:
    """Make the changes, show them, and revert them at the end of standard input.

    The nettop at another host proves a fix of this host by it. If that nettop ends, or the
    connection breaks or carries nothing, the changes are reverted; if this process is killed or
    stopped, its keeper does that.

    Refused: not root, or a change could not be made or reverted.
    """
    from ..changes.plan import forecast
    from ..trials.lever import LeverError, Switch

    if args.keep:
        raise Refused("--hold reverts the changes, and --keep keeps them: give one of them", 2)
    if os.geteuid() != 0:
        raise Refused(f"--hold needs root: {own.called_as_root()} set …", 4)
    if not changes:
        return show(())
    source = Live()
    made = [replace(forecast(one, source), state="applied") for one in changes]
    try:
        with Switch((), args.finding or "", exactly=changes, silence=args.hold) as lever:
            lever.put(1)
            show(made)
            sys.stdout.flush()
            silent = wait(args.hold, lever.hold)
    except (LeverError, ValueError, OSError) as error:
        raise Refused(sentence(error), 4) from None
    if silent:
        raise Refused(f"standard input was silent for {args.hold:g} s: the change is reverted", 4)
    return 0


def wait(seconds: float, heard: Callable[[], None]) -> bool:
    """Read standard input to its end: False. True if nothing comes for so many seconds.

    `heard` is called first, and after each read.
    """
    heard()
    while select.select([0], [], [], seconds)[0]:
        more = os.read(0, 1 << 12)
        heard()
        if not more:
            return False
    return True
