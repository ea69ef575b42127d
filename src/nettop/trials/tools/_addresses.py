"""The addresses of the two ends of a test, and the token that authenticates them."""

from __future__ import annotations

import secrets
import socket

from ..run import Trial, TrialError


def ends(trial: Trial) -> dict[str, str]:
    """What `far/door.py` is told at both ends: listen `at`, for whom (`of`), by which `token`."""
    to = numeric(trial.options.to)
    return {"at": to, "of": local_address(to), "token": secrets.token_hex(16)}


def numeric(to: str) -> str:
    """The IP address of `to`, which both ends are told alike; TrialError when it has none."""
    if ":" in to:
        return to
    try:
        found = socket.getaddrinfo(to, None, socket.AF_INET, socket.SOCK_DGRAM)
    except OSError as error:
        raise TrialError(f"{to}: {error.strerror or error}") from None
    return str(found[0][4][0])


def local_address(to: str) -> str:
    """The address of this host that traffic from `to` arrives at; TrialError without a route."""
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((to, 9))
        except OSError as error:
            raise TrialError(f"no route to {to}: {error.strerror or error}") from None
        return str(sock.getsockname()[0])
