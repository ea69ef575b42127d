"""The addresses of the two ends of a test, and the token that authenticates them."""

from __future__ import annotations

import secrets
import socket

from ..far.schema import HelperOptions
from ..run import Trial, TrialError


def ends(trial: Trial) -> HelperOptions:
    """The options of `far/listener.py`: listen `at`, for the end `of`, with this `token`."""
    to = numeric(trial.options.to)
    return {"at": to, "of": local_address(to), "token": secrets.token_hex(16)}


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
