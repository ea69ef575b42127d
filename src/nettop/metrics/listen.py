"""Metrics in the formats of Prometheus, and over HTTP or HTTPS until a signal.

Connections have a thread each, and so has the TLS handshake: a client that sends nothing delays
nobody, and is disconnected after `PATIENCE` seconds.
"""

from __future__ import annotations

import errno
import ipaddress
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from socketserver import TCPServer
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler

from prometheus_client import CollectorRegistry, generate_latest, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import Metric

from ..terms.errors import sentence
from ..terms.text import safe
from .families import COUNTER, FAMILIES, Family, Sample

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


PATIENCE: Final = 10.0  # seconds for a request, and for each part of it
PATH: Final = "/metrics"


class _Handler(WSGIRequestHandler):
    """One connection, without a log line for each request."""

    timeout = PATIENCE

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""


class _Server(ThreadingWSGIServer):
    """The server of one place."""

    def server_bind(self) -> None:
        """Bind, without a question to the name service about the address."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: object, client_address: object) -> None:
        """Drop a connection that failed: the client has gone, or does not speak this protocol."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class Server:
    """A bound server that does not answer yet."""

    def __init__(
        self, place: Place, samples: Callable[[], Iterable[Sample]], tls: ssl.SSLContext | None
    ) -> None:
        """Bind the place; OSError if it cannot be used."""
        kind = _Server6 if ":" in place.address else _Server
        self._server = kind((place.address, place.port), _Handler)
        self._server.set_app(_guarded(make_wsgi_app(registry(samples))))
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.url = f"{'http' if tls is None else 'https'}://{place.shown}{PATH}"

    def run(self, begin: Callable[[], None]) -> None:
        """Call `begin`, then answer, until SIGINT or SIGTERM; must run in the main thread.

        An exception of `begin` ends the server and is raised again.
        """
        ended, serving = threading.Event(), threading.Event()
        failed: list[BaseException] = []

        def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
            ended.set()

        def serve() -> None:
            try:
                begin()
                serving.set()
                self._server.serve_forever(0.1)
            except BaseException as error:
                failed.append(error)
                ended.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        threading.Thread(target=serve, daemon=True).start()
        ended.wait()
        if serving.is_set() and not failed:
            self._server.shutdown()
        self._server.server_close()
        if failed:
            raise failed[0]


def _guarded(app: WSGIApplication) -> WSGIApplication:
    """The application, with status 500 and one line on stderr where it raises an exception."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return app(environ, start_response)
        except Exception as error:
            message = f"nettop: no metrics: {sentence(error)}"
            print(safe(message), file=sys.stderr, flush=True)
            start_response("500 Internal Server Error", [("Content-Type", "text/plain")])
            return [b"no metrics: see the messages of nettop\n"]

    return answer


def tls(certificate: str, key: str) -> ssl.SSLContext:
    """The TLS context of a server with these PEM files; OSError says why they cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password="")  # never ask for a password
    except ssl.SSLError as error:
        raise OSError(errno.EINVAL, _unusable(certificate, key, error)) from error
    return context


def _unusable(certificate: str, key: str, error: ssl.SSLError) -> str:
    """Why OpenSSL refuses the files; it says only "PEM lib" for most reasons."""
    with open(certificate, "rb") as file:
        chain = file.read()
    with open(key, "rb") as file:
        secret = file.read()
    if b"-----BEGIN CERTIFICATE-----" not in chain:
        return f"{certificate} has no certificate in PEM form"
    if b"PRIVATE KEY-----" not in secret:
        return f"{key} has no private key in PEM form"
    if b"ENCRYPTED" in secret:
        return f"the key in {key} has a passphrase, and nettop asks for none"
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key is not that of the first certificate"
    return f"OpenSSL says {error.reason or error}"


class Collector:
    """What a registry of prometheus_client asks for metrics."""

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        """`samples` gives the current samples."""
        self._samples = samples

    def describe(self) -> Iterator[Metric]:
        """Every metric without samples; `?name[]=…` of a scrape selects by these names."""
        return (_metric(family) for family in FAMILIES)

    def collect(self) -> Iterator[Metric]:
        """The metrics that have samples, in the order of `FAMILIES`."""
        known: dict[Family, list[Sample]] = {family: [] for family in FAMILIES}
        for sample in self._samples():
            known[sample.family].append(sample)
        for family, samples in known.items():
            metric = _metric(family)
            for sample in samples:
                metric.add_metric(tuple(map(_utf_8, sample.labels)), sample.value)
            if samples:
                yield metric


def _metric(family: Family) -> CounterMetricFamily | GaugeMetricFamily:
    make = CounterMetricFamily if family.type == COUNTER else GaugeMetricFamily
    return make(family.name, family.help, labels=family.labels)


def _utf_8(text: str) -> str:
    """The text with `?` for bytes that are not UTF-8: an interface may have any name."""
    return text.encode("utf-8", "replace").decode()


def registry(samples: Callable[[], Iterable[Sample]]) -> CollectorRegistry:
    """A registry of these samples and of nothing else: no metrics of Python or the process."""
    own = CollectorRegistry()
    own.register(Collector(samples))
    return own


def exposition(samples: Iterable[Sample]) -> str:
    """The samples in the text format, version 0.0.4, without time stamps."""
    return generate_latest(registry(lambda: samples)).decode()


class Place(NamedTuple):
    """An IP address and a TCP port."""

    address: str
    port: int

    @property
    def shown(self) -> str:
        """`127.0.0.1:9469` or `[::1]:9469`."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{address}:{self.port}"


def parse_place(text: str) -> Place:
    """The place in `ADDR:PORT`, `[ADDR]:PORT`, `:PORT` or `PORT`; ValueError for any other text.

    Without an address it is 127.0.0.1.
    """
    before, colon, digits = text.rpartition(":")
    if not (digits.isascii() and digits.isdigit() and 1 <= int(digits) <= 65535):
        raise ValueError(f"{text!r} is not ADDR:PORT with a port from 1 to 65535")
    bare = before.removeprefix("[").removesuffix("]")
    if not colon or not before:
        return Place("127.0.0.1", int(digits))
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        raise ValueError(f"{text!r}: {bare!r} is not an IP address") from None
    if (address.version == 6) != before.startswith("[") or len(before) - len(bare) not in (0, 2):
        raise ValueError(f"{text!r}: write an IPv6 address in brackets, and no other")
    return Place(bare, int(digits))
