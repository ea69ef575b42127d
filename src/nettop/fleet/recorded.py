"""The state of a host by its recording or incident."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from ..box.incident import ENTRY, decode
from ..host.recording import Replay
from ..views.enough import shortfall
from ..views.inventory import address, inventory
from ..views.observer import Observation, Observer, watch
from .documents import FINDINGS, INTERFACES, SETTINGS, text
from .model import Beginning, Brief, HostState, Interface, Reading

LAST: Final = 60.0  # seconds at the end of a recording that it is judged by
WINDOW: Final = 5.0  # seconds that the `hold` of a rule is limited to, as in `nettop advise`


def read(archive: bytes, file: str, named: Callable[[str], str]) -> Reading:
    """What a recording has; RecordingError for another format.

    An incident says what began. It is not judged again: findings of another moment than that of the
    host's other files would look like changes.
    """
    replay = Replay(archive)
    body = replay.body(ENTRY)
    host = named(text(replay.host))
    if body is not None:
        one = decode(body)
        state = _state(next(watch(_observer(replay), WINDOW)), host, file, judged=False)
        return Reading(state, Beginning(
            host, file, one.wall, text(one.rule), text(one.target), text(one.severity),
            text(one.title),
        ))  # fmt: skip
    replay.skip(replay.moments[-1].at - LAST)
    last = deque(watch(_observer(replay), LAST), maxlen=1).pop()
    return Reading(_state(last, host, file, judged=True))


def _observer(replay: Replay) -> Observer:
    return Observer(replay, window=WINDOW)


def _state(last: Observation, host: str, file: str, *, judged: bool) -> HostState:
    values = inventory(last.facts, last.frame.wall)
    if not last.frame.tables:
        raise ValueError("no data of this host can be read")
    lacking = shortfall(last.frame, live=False) if judged else "an incident says what began only"
    findings = last.judgement.findings if judged else ()
    return HostState(
        host=host,
        file=file,
        at=values["at"],
        kernel=text(values["kernel"]),
        interfaces=tuple(
            Interface(text(one["name"]), text(one["driver"]), text(one["firmware"]))
            for one in values["interfaces"][:INTERFACES]
        ),
        settings={
            text(name): text(value) for name, value in list(values["settings"].items())[:SETTINGS]
        },
        findings=tuple(
            Brief(
                text(one.rule), text(one.target), one.severity, text(one.title),
                frozenset((
                    *(wanted.setting for wanted in one.wanted),
                    *(address(item["field"], one.target) for item in one.evidence),
                )),
            )
            for one in findings[:FINDINGS]
        ),
        shortfall=lacking or "",
    )  # fmt: skip
