"""Run a tool with a server on the other host and a client on this host."""

import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from ipaddress import ip_address
from typing import Final

from ..end import Peer
from ..far.schema import HelperOptions
from ..run import Trial, TrialError


def run_both(
    trial: Trial,
    server: Sequence[str],
    client: Callable[[int], list[str]],
    port: int,
    *,
    one_shot: bool = False,
) -> tuple[str, str]:
    """The output of the client and of the server.

    `{address}` and `{port}` in the arguments of the server become its listening address; `client`
    gives the arguments of the client for a port. A `one_shot` server ends by itself. Without a peer
    the user has started the server. TrialError if the client failed without output on stdout.
    """
    port = trial.options.port or port
    with ExitStack() as stack:
        far = None
        if trial.there is not None:
            far = stack.enter_context(
                trial.start(
                    trial.there, server, cpus=trial.options.cpu_there,
                    at=numeric(trial.options.to), port=port,
                )
            )  # fmt: skip
            port = far.wait_for("port")["port"]
        argv = client(port)
        near = stack.enter_context(trial.start(trial.here, argv, cpus=trial.options.cpu_here))
        code, output, errors = trial.output(near, trial.length + 20)
        server_output = ""
        if far is not None:
            if not one_shot:
                far.stop()
            server_output = trial.output(far, 10)[1]
    if code and not output.strip():
        raise failed(argv[0], errors, f"exit code {code}")
    return output, server_output


def failed(program: str, output: str, otherwise: str = "no output") -> TrialError:
    """The error of a tool without a result: the last line of its output, or `otherwise`."""
    lines = output.strip().splitlines() or [otherwise]
    return TrialError(f"{program}: {lines[-1]}")


def number(text: str) -> float | None:
    """A number in the output of a tool; None if it is not a number, or not plausible."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e18 else None


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
