"""Commands: one module per command. The folder is listed; a module is imported when it runs.

A command module has a docstring (its help page), `HELP` (one line), `arguments(parser)` and
`run(args) -> int` (the exit code). `GROUP` is its heading in `nettop --help` (default: more). It
imports its dependencies inside `run`. Data goes to stdout, messages to stderr. An error that ends
the command raises `Refused(sentence, code)`.
"""

from __future__ import annotations

import argparse
import errno
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from .. import SCHEMA
from ..files import own
from ..files.trust import program
from ..host.source import NOT_ROOT, Live, Source
from ..terms.errors import Refused, nearest, sentence
from ..terms.modules import modules
from . import _argument
from ._argument import interface, namespace, own_names

if TYPE_CHECKING:
    from ..frame.rates import Frame
    from ..settings import Address

NAMESPACES = "/run/netns"
MANY = 10_000  # moments of a recording: reading more takes long
SLOW = 3.0  # seconds after which a message says that another host does not answer yet


@cache
def names(*, hidden: bool = False) -> tuple[str, ...]:
    """All command names; `hidden` includes the internal ones, which start with an underscore."""
    return modules(__path__[0], "__" if hidden else "_")


def command(name: str) -> ModuleType:
    """The command's module."""
    return import_module(f"{__name__}.{name}")


def run(name: str, args: argparse.Namespace) -> int:
    """Run a command with its parsed arguments."""
    _report_once.cache_clear()
    code: int = command(name).run(args)
    return code


def source_arguments(parser: argparse.ArgumentParser, *, writes: str = "") -> None:
    """--host, --root, --replay and --netns: the source of the data.

    `writes`: what of a command that changes this host reads others, such as `--dry-run`.
    """
    reads = f"with {writes}, read" if writes else "read"
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--host", type=_argument.prefix, metavar="PREFIX",
        help=f'{reads} another host, reached by a command such as "ssh web1"',
    )  # fmt: skip
    where.add_argument("--root", metavar="DIR", help=f"{reads} a copy of /proc and /sys from DIR")
    where.add_argument("--replay", metavar="FILE", help=f"{reads} a recording")
    netns_argument(where)


def peer_argument(parser: argparse._ActionsContainer) -> None:
    """--peer: the other end of the flows of this host."""
    parser.add_argument(
        "--peer", type=_argument.prefix, metavar="PREFIX",
        help='read the other end of the flows too, by a command such as "ssh host2"; with --replay'
             " its file",
    )  # fmt: skip


def netns_argument(parser: argparse._ActionsContainer) -> None:
    """--netns, for commands that need a running host."""
    parser.add_argument(
        "--netns", type=namespace, metavar="NAME", help="run inside network namespace NAME"
    )


def duration_argument(
    parser: argparse._ActionsContainer, name: str, help: str,  # noqa: A002
    default: float | None = None, *, parse: Callable[[str], float] | None = None,
    dest: str | None = None,
) -> None:  # fmt: skip
    """An option that takes a duration in seconds: `2`, `500ms`, `10m`.

    `parse` is the argparse type (default: `seconds`), `dest` the attribute of the arguments.
    """
    parser.add_argument(
        name, type=parse or seconds, default=default, metavar="DURATION", help=help, dest=dest
    )


def profile_argument(parser: argparse._ActionsContainer) -> None:
    """--profile: the workload profile."""
    from ..facts import PROFILES

    parser.add_argument("--profile", choices=PROFILES, help="workload profile (default: detected)")


def interface_argument(parser: argparse._ActionsContainer, help: str) -> None:  # noqa: A002
    """--interface: one network interface."""
    parser.add_argument("--interface", type=interface, metavar="IF", help=help)


def json_argument(parser: argparse.ArgumentParser) -> None:
    """--json: machine-readable output."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def drop_reasons_argument(parser: argparse.ArgumentParser) -> None:
    """--drop-reasons: count drops and failed calls in the kernel, and sample the cores."""
    parser.add_argument(
        "--drop-reasons", action="store_true",
        help="count drops by the kernel's reason and failed calls, and sample what cores do",
    )  # fmt: skip


def enter_netns(name: str) -> None:
    """Run this command again inside the network namespace NAME, with execve(2)."""
    known = os.listdir(NAMESPACES) if os.path.isdir(NAMESPACES) else []
    if name not in known or not _mounted(f"{NAMESPACES}/{name}"):
        others = [other for other in known if other != name]
        raise Refused(f"no network namespace {name!r}{nearest(name, others)}", 2)
    words = list(sys.argv[1:])
    for index, word in enumerate(words):
        if word == "--netns":
            del words[index : index + 2]
            break
        if word.startswith("--netns="):
            del words[index]
            break
    inside = ["ip", "netns", "exec", name, *own.again(), *words]
    try:
        os.execv(program("ip"), inside)  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise Refused(f"cannot enter namespace {name}: ip: {error.strerror}", 3) from None


def _mounted(path: str) -> bool:
    """Whether a namespace is mounted at the path; a stale file is not: ip-netns(8)."""
    try:
        return os.stat(path).st_dev == os.stat("/proc/self/ns/net").st_dev
    except OSError:
        return False


def open_source(args: argparse.Namespace, *, pace: float = 0.0, loop: bool = False) -> Source:
    """The source that the arguments select: this host, another, a directory or a recording.

    The alternative names of its interfaces in the arguments become their own. `pace` and `loop`
    control the playback of a recording: see `Replay`.
    """
    if getattr(args, "netns", None):
        enter_netns(args.netns)
    source = _selected(args, pace=pace, loop=loop)
    own_names(args, source)
    return source


def _selected(args: argparse.Namespace, *, pace: float, loop: bool) -> Source:
    if getattr(args, "replay", None):
        from ..host.recording import RecordingError, Replay, load

        try:
            replay = Replay(load(args.replay), pace=pace, loop=loop)
        except OSError as error:
            raise Refused(f"cannot read {args.replay}: {error.strerror or error}", 3) from None
        except RecordingError as error:
            raise Refused(f"{args.replay}: {error}", 3) from None
        if not pace and len(replay.moments) > MANY:
            count = f"{len(replay.moments):,} moments"
            print_lines(f"{args.replay} has {count}: reading them takes a while", to=sys.stderr)
        return replay
    if getattr(args, "host", None):
        return _distant(args.host)
    if getattr(args, "root", None):
        if not os.path.isdir(args.root):
            raise Refused(f"no such directory: {args.root}", 3)
        return Live(args.root)
    return this_host()


def this_host() -> Source:
    """This machine, with the interfaces of the network namespace of this process."""
    from ..host.netlink import elsewhere
    from ..host.source import Live

    elsewhere.ensure()
    return Live()


def open_peer(args: argparse.Namespace, here: Source) -> Source | None:
    """The source of --peer, or the recorded other end; None where there is none.

    Refused for a directory, or where a file of --peer is not the other end.
    """
    if here.ends:
        from ..host.recording import Replay
        from ._argument import other

        if isinstance(here, Replay):
            return other(args, here)
    check_peer(args, here)
    return None if args.peer is None else _distant(args.peer)


def check_peer(args: argparse.Namespace, here: Source) -> None:
    """Refuse --peer where `here` is no running host."""
    if args.peer is not None and not here.live and here.batches is None:
        raise Refused("--peer needs a running host, not a recording or a directory", 2)


def _distant(text: str) -> Source:
    """Another host, whose reader ends with this process."""
    import atexit
    import threading

    from ..host.connection import HELLO
    from ..host.distant import behind

    typed = sys.stdin is not None and sys.stdin.isatty()
    ends = "; Ctrl-C ends it" if typed else f", for {HELLO:g} s at most"
    says = f"nettop: still connecting to {text}{ends}"
    waiting = threading.Timer(SLOW, print_lines, [says], {"to": sys.stderr})
    waiting.daemon = True
    waiting.start()
    try:
        source = behind(text, asks=True, patience=math.inf if typed else HELLO)
    finally:
        waiting.cancel()
    atexit.register(source.close)
    if not source.root:
        print_lines(f"nettop: {source.name}: {NOT_ROOT}", to=sys.stderr)
    return source


def known_interface(frame: Frame, name: str | None) -> None:
    """Refuse an interface name that is not in the links of the frame."""
    known = [row.interface for row in frame.rows("links")]
    known = known or [row.name for row in frame.rows("netdev")]
    if name and known and name not in known:
        raise Refused(f"no interface {name!r} on this host{nearest(name, known)}", 2)


def absent(source: Source, address: Address, error: Exception) -> Refused | None:
    """The usage error for a setting whose target does not exist; None for any other error."""
    from ..settings import kind

    if not isinstance(error, OSError) or error.errno not in (errno.ENOENT, errno.ENODEV):
        return None
    try:
        if address.kind != "sysctl" and not getattr(kind(address.kind), "NIC", False):
            return None
        if address.kind == "sysctl":
            from ..settings.sysctl import foreign, path

            if foreign(source):  # the host itself may have it
                return None
            folder, _, last = path(address.name).rpartition("/")
            return Refused(f"{sentence(error)}{nearest(last, source.listing(folder))}", 2)
        rows = source.text("/proc/net/dev").splitlines()[2:]
    except OSError:
        return None
    known = [row.rpartition(":")[0].strip() for row in rows]
    if not address.nic or address.nic.isdecimal() or address.nic in known:
        return None
    return Refused(f"no interface {address.nic!r} on this host{nearest(address.nic, known)}", 2)


def report_faults(faults: Iterable[str]) -> None:
    """Report each invalid file, key or line of the user's configuration, which is ignored."""
    for fault in faults:
        _report_once(fault)


@cache  # a command that reads the configuration twice reports a fault once
def _report_once(fault: str) -> None:
    print_lines(f"nettop: ignored: {fault}", to=sys.stderr)


def must_be_live(source: Source, what: str) -> None:
    """Refuse a command that needs the running host on a recording or a directory."""
    if source.batches is not None:
        from ..host.prefix import installed

        there = f"run it on {source.host} itself, after --install by PREFIX {installed(what)} …"
        raise Refused(f"{what} writes on this host only: {there}", 2)
    if not source.live:
        raise Refused(f"{what} needs the running host, not a recording or a directory", 2)


def enter_netns_of(args: argparse.Namespace) -> None:
    """Run this command again inside the namespace of --netns, if that option is given.

    For commands that act on this host only: alternative names in their arguments become own names.
    """
    if args.netns is not None:
        enter_netns(args.netns)
    own_names(args, this_host())


def emit(document: Mapping[str, object]) -> None:
    """Print a JSON document; its schema number comes first."""
    whole = {"schema": SCHEMA, **document}
    print(escape_controls(json.dumps(whole, default=plain, ensure_ascii=not_utf_8())))


def not_utf_8() -> bool:
    """Whether the encoding of stdout lacks characters; JSON then uses escapes."""
    return "utf" not in (getattr(sys.stdout, "encoding", None) or "utf").lower()


def escape_controls(text: str) -> str:
    """JSON text with control characters escaped; undecodable bytes become `?`."""
    if text.isprintable():
        return text
    known = text.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in known)


def print_lines(*lines: str, to: TextIO | None = None) -> None:
    """Print lines of text; control characters in a line are made visible."""
    from ..terms.text import safe

    print("\n".join(map(safe, lines)), file=to)


def plain(value: object) -> object:
    """The value as JSON types, for `json.dumps`: dataclasses become objects, sets arrays."""
    from dataclasses import fields, is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, bytes):
        return value.hex(":")
    return str(value)


def seconds(text: str) -> float:
    """A duration such as 2, 0.5, 500ms, 30s, 10m, 1h; for argparse."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "ms": 1e-3}
    number = text.rstrip("hms")
    try:
        value = float(number) * units.get(text[len(number) :] or "s", float("nan"))
    except ValueError:
        value = float("nan")
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 2, 500ms or 10m")
    return value


def pause(text: str) -> float:
    """A duration or 0; for argparse."""
    return 0.0 if text.strip("0.") == "" and "0" in text else seconds(text)
