"""Export what nettop knows of this host as metrics for Prometheus.

nettop metrics                                 print them once
nettop metrics --textfile /var/lib/node_exporter/nettop.prom
nettop metrics --listen 127.0.0.1:9469         serve them at /metrics
nettop metrics --alerts > nettop.rules.yml     alerting and recording rules, from the rules
nettop metrics --board > nettop.json           a dashboard for Grafana

--textfile writes once, for the textfile collector of node_exporter; with --unit it prints a systemd
service and timer that do so every minute. --listen looks at the host when it is asked, at most once
a second, and ends with SIGINT or SIGTERM. The metrics name findings, devices and queues, but no
address, port or process. Run it as root: other users see neither all settings nor root's journal.
"""

from __future__ import annotations

import argparse
import errno
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..files import own
from ..terms.errors import Refused, sentence
from . import (
    _argument,
    duration_argument,
    open_source,
    profile_argument,
    report_faults,
    source_arguments,
)

if TYPE_CHECKING:
    from ..advice.rules.rule import Rule
    from ..metrics.families import Looks
    from ..metrics.listen import Place

GROUP = "data"
HELP = "export metrics for Prometheus (needs nettop[metrics])"


def _place(text: str) -> Place:
    """The argument of --listen."""
    from ..metrics.listen import parse_place

    try:
        return parse_place(_argument.word(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--textfile", metavar="PATH", type=_argument.word, help="write them to PATH")
    what.add_argument(
        "--listen", metavar="ADDR:PORT", type=_place,
        help="serve them at http://ADDR:PORT/metrics; PORT alone: on 127.0.0.1",
    )  # fmt: skip
    what.add_argument("--alerts", action="store_true", help="print the rules for Prometheus")
    what.add_argument(
        "--alert-tests", action="store_true", help="print unit tests of these rules, for promtool"
    )
    what.add_argument("--board", action="store_true", help="print a dashboard for Grafana, as JSON")
    parser.add_argument(
        "--unit", action="store_true",
        help="with --textfile: print a systemd service and timer that write the file every minute",
    )  # fmt: skip
    parser.add_argument(
        "--certificate", metavar="FILE", type=_argument.word,
        help="with --listen: TLS with this certificate (PEM)",
    )  # fmt: skip
    parser.add_argument(
        "--key", metavar="FILE", type=_argument.word, help="the private key of the certificate"
    )
    duration_argument(parser, "--seconds", "how long to observe the host at the start (2)", 2.0)
    profile_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Export. Exit code 3: not enough could be read to judge the host, or no prometheus_client."""
    if args.unit and not args.textfile:
        raise Refused("--unit needs --textfile PATH")
    if (args.certificate or args.key) and not args.listen:
        raise Refused("--certificate and --key need --listen")
    if (args.certificate is None) != (args.key is None):
        raise Refused("TLS needs both --certificate and --key")
    if args.alerts or args.alert_tests or args.board:
        print(_made(args), end="")
        return 0
    if args.unit:
        print(_unit(args.textfile), end="")
        return 0
    if find_spec("prometheus_client") is None:
        raise Refused("prometheus_client is not installed: pip install 'nettop[metrics]'", 3)
    if args.listen is not None:
        return _listen(args)
    return _once(args)


def _made(args: argparse.Namespace) -> str:
    """A file for Prometheus or Grafana, made from the rules of nettop and of the user."""
    from ..metrics import alerts

    if args.board:
        return alerts.dashboard()
    rules = _rules()
    return alerts.text(rules) if args.alerts else alerts.test_text(rules)


def _rules() -> tuple[Rule, ...]:
    from .. import config
    from ..advice.rules.load import load

    settings = config.load()
    faults = [*settings.faults]
    rules = load(config.rule_folders(), limits=settings.limits, tell=faults.append)
    report_faults(faults)
    return rules


def _unit(path: str) -> str:
    from ..host import systemd

    try:
        return systemd.metrics_units(own.command(), path)
    except ValueError as error:
        raise Refused(str(error)) from None


def _once(args: argparse.Namespace) -> int:
    """Print the metrics, or write them to a file."""
    from ..files import draft
    from ..metrics.listen import exposition

    looks = _looks(args, window=args.seconds)
    looks.observe(args.seconds, to_end=True)
    page = exposition(looks.last)
    if args.textfile is None:
        print(page, end="")
    else:
        try:
            draft.write(args.textfile, page, 0o644)
        except OSError as error:
            reason = error.strerror or error
            raise Refused(f"cannot write {args.textfile}: {reason}", 3) from None
        if not args.textfile.endswith(".prom"):
            notice = "nettop: node_exporter reads only files whose names end in .prom"
            print(notice, file=sys.stderr)
    return 0 if looks.judged else 3


def _listen(args: argparse.Namespace) -> int:
    """Serve until a signal."""
    from ..metrics.listen import Server, tls

    looks = _looks(args, window=None)
    context = None
    if args.certificate is not None:
        try:
            context = tls(args.certificate, args.key)
        except OSError as error:
            files = f"{args.certificate} and {args.key}"
            raise Refused(f"cannot use {files}: {error.strerror or sentence(error)}", 3) from None
    try:
        server = Server(args.listen, looks.samples, context)
    except OSError as error:
        code = 2 if error.errno == errno.EADDRNOTAVAIL else 3
        raise Refused(f"cannot listen on {args.listen.shown}: {error.strerror}", code) from None

    def begin() -> None:
        looks.observe(args.seconds, to_end=False)
        print(server.url, flush=True)

    server.run(begin)
    return 0


def _looks(args: argparse.Namespace, window: float | None) -> Looks:
    """The looks of the source in the arguments."""
    from ..metrics.families import Looks
    from ..views.observer import Observer

    source = open_source(args, loop=args.listen is not None)
    observer = Observer(source, profile=args.profile, window=window)
    report_faults(observer.faults)
    return Looks(source, observer)
