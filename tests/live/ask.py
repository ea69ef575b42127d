"""How a case is played, and how nettop is asked about its host."""

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from live import recorded
from live.place import Place, guest, namespaces
from live.scenario import Outcome, Scenario, score
from warm import shared


def run(scenario: Scenario) -> Outcome:
    """Make the host, ask nettop, score."""
    if scenario.file.startswith("recorded"):
        return score(scenario, recorded.findings(scenario))
    with host(scenario) as place:
        settle = float(scenario.told.get("settle", 1.5))
        with place.running(scenario.words("load"), settle):
            said = ask(place, scenario)
    return score(scenario, [(one["severity"], one["id"]) for one in said["findings"]])


@contextlib.contextmanager
def host(scenario: Scenario) -> Iterator[Place]:
    """The host of the case, mis-tuned; put right or thrown away afterwards."""
    with contextlib.ExitStack() as stack:
        if scenario.file.startswith("vm"):
            place = guest(str(scenario.told["nic"]))
        else:
            queues, router = int(scenario.told.get("queues", 1)), bool(scenario.told.get("router"))
            place = stack.enter_context(namespaces(queues, router=router))
        for command in scenario.words("mend"):
            stack.callback(place.do, command)
        for command in scenario.words("break"):
            place.do(command)
        yield place


def looks(scenario: Scenario) -> list[str]:
    """How long nettop looks at this host, and what the host is for."""
    words = ["--seconds", str(scenario.told.get("seconds", 4))]
    if "profile" in scenario.told:
        words += ["--profile", str(scenario.told["profile"])]
    return words


def ask(place: Place, scenario: Scenario) -> dict[str, Any]:
    """`nettop advise --json` at this end."""
    return nettop(place, ["advise", "--json", "--fail-on", "never", *looks(scenario)])


def nettop(place: Place, words: list[str], state: str = "") -> dict[str, Any]:
    """A command's JSON, in this process where the host is this one; RuntimeError: it has none.

    `state` is the folder of its journal, if a later command must find it again.
    """
    if not place.here:
        from nettop.cli import main

        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            main(words)
        return _document(words, out.getvalue(), errors.getvalue())
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NETTOP_STATE": state or folder, "XDG_CONFIG_HOME": folder}
        done = shared().run(words, env, netns=place.here[-1])  # ip netns exec NAME
    return _document(words, done.stdout.decode(), done.stderr.decode())


def _document(words: list[str], out: str, errors: str) -> dict[str, Any]:
    if not out:
        raise RuntimeError(f"nettop {' '.join(words)}: {errors.strip()}")
    return dict(json.loads(out))
