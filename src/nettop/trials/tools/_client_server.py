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
    patience: float = 20.0,
) -> tuple[str, str]:
    """The output of the client and of the server.

    `{address}` and `{port}` in the server's arguments are replaced by its listening address.
    Without a peer the user has started the server. TrialError if the client failed without output
    on stdout.
    """
    wanted = trial.options.port or port
    with ExitStack() as stack:
        far = None
        if trial.there is not None:
            where = {"at": numeric(trial.options.to), "port": wanted, "wait": True}
            cpus = list(trial.options.cpu_there)
            far = stack.enter_context(trial.start(trial.there, list(server), **where, cpus=cpus))
            wanted = int(far.wait_for("port"))
        argv = client(wanted)
        near = stack.enter_context(trial.start(trial.here, argv, cpus=list(trial.options.cpu_here)))
        code, said, complaint = trial.output(near, trial.length + patience)
        theirs = ""
        if far is not None:
            far.stop()
            theirs = trial.output(far, 10)[1]
    if code and not said.strip():
        last = complaint.strip().splitlines()[-1:] or [f"exit code {code}"]
        raise TrialError(f"{argv[0]}: {last[0]}")
    return said, theirs


def refuse(trial: Trial, tool: str, *names: str) -> None:
    """TrialError if an option is set that the tool does not support."""
    from ..result import Options

    plain = Options()
    for name in names:
        if getattr(trial.options, name) != getattr(plain, name):
            raise TrialError(f"{tool} does not support --{name.replace('_', '-')}")


def numbers(text: str) -> float | None:
    """A number from the output of a tool; None if it is not a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e18 else None
