"""Run a tool with a server on the other host and a client on this host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from ..run import Trial, TrialError
from ._addresses import numeric


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
