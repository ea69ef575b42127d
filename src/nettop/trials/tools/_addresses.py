"""The addresses of the two ends of a test, and the token that authenticates them."""

from __future__ import annotations

import secrets
import socket
from ipaddress import ip_address
from typing import Final

from ..far.schema import HelperOptions
from ..peer import Peer
from ..run import Trial, TrialError

_OWN: Final = (  # `local_address` for another host
    "import socket,sys;to=sys.argv[1];"
    "s=socket.socket(socket.AF_INET6 if ':' in to else socket.AF_INET,socket.SOCK_DGRAM);"
    "s.connect((to,9));print(s.getsockname()[0])"
)


def ends(trial: Trial) -> HelperOptions:
    """The options of `far/listener.py`: listen `at`, for the end `of`, with this `token`."""
    to = numeric(trial.options.to)
    own = address_at(trial.here, to) if trial.options.host else local_address(to)
    return {"at": to, "of": own, "token": secrets.token_hex(16)}


def numeric(to: str) -> str:
    """The IP address of the host `to`, the same for both ends; TrialError if it has none."""
    if ":" in to:
        return to
    try:
        entries = socket.getaddrinfo(to, None, socket.AF_INET, socket.SOCK_DGRAM)
    except OSError as error:
        raise TrialError(f"{to}: {error.strerror or error}") from None
    return str(entries[0][4][0])


def local_address(to: str) -> str:
    """The address of this host on the route to `to`; TrialError without a route."""
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((to, 9))
        except OSError as error:
            raise TrialError(f"no route to {to}: {error.strerror or error}") from None
        return str(sock.getsockname()[0])


def address_at(here: Peer, to: str) -> str:
    """The same of another host that is one end of the test; TrialError, PeerError."""
    code, output = here.run(here.python(_OWN, to))
    lines = output.strip().splitlines() or ["no output"]
    if code:
        raise TrialError(f"no route to {to} {here.where}: {lines[-1].rpartition('] ')[2]}")
    try:
        return str(ip_address(lines[-1].partition("%")[0]))
    except ValueError:
        raise TrialError(f"no address of its own {here.where}: {lines[-1][:100]}") from None
