"""What is new, and what has gone, since an earlier `nettop advise --json`.

A finding is the same if its rule and target are. The numbers of processes and the ephemeral ports
of flows (ip-sysctl, ip_local_port_range) differ from run to run, so they do not count. A finding
whose severity has risen is new.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .. import config
from ..advice.rules.severity import SEVERITIES
from ..files import bounds
from ..terms.dataclass import dataclass
from ..terms.errors import Refused, sentence

if TYPE_CHECKING:
    from ..advice.judge.judge import Judgement
    from ..advice.rules.rule import Finding

EPHEMERAL: Final = 32768  # the first port of the kernel's default range
_PID: Final = re.compile(r"\[\d+\]", re.ASCII)
_PORT: Final = re.compile(r":(\d{5})(?=>|$)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Known:
    """A finding of the baseline."""

    id: str
    severity: str
    title: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier document. `at` is 0.0 and a version is empty if it does not say them."""

    host: str
    at: float  # seconds since 1970
    version: str
    rules: str
    findings: tuple[Known, ...]

    @property
    def when(self) -> str:
        """Its time in UTC, or `the baseline`."""
        form = "%Y-%m-%d %H:%M:%S UTC"
        return time.strftime(form, time.gmtime(self.at)) if self.at else "the baseline"


@dataclass(frozen=True, slots=True)
class Since:
    """The difference between a baseline and now."""

    baseline: Baseline
    new: tuple[Finding, ...]
    gone: tuple[Known, ...]
    remarks: tuple[str, ...]  # why the two can differ although the host does not


def read(path: str) -> Baseline:
    """The baseline in a file. Refused: exit code 3 if it cannot be read, 2 if it is none."""
    try:
        data = bounds.read(path, "result")
    except OSError as error:
        raise Refused(f"cannot read the baseline: {sentence(error)}", 3) from None
    try:
        document = bounds.document(data)
        rows = document["findings"]
        host, at = document["host"], document.get("system", {}).get("at", 0.0)
        severities = [str(row["severity"]) for row in rows]
        if not (isinstance(host, str) and bounds.number(at) and 0 <= at < 1e11):
            raise ValueError("host or time is wrong")
        if not set(severities) <= set(SEVERITIES):
            raise ValueError("a severity is wrong")
        own = [row for row in rows if row.get("host", host) == host]  # others are of a peer
        known = tuple(Known(*(str(row[k]) for k in ("id", "severity", "title"))) for row in own)
    except (AttributeError, KeyError, TypeError, ValueError):
        message = f"{path}: not a document of `nettop advise --json`"
        raise Refused(message, 2) from None
    version, rules = (str(document.get(name, "")) for name in ("version", "rules"))
    return Baseline(host, float(at), version, rules, known)


def since(
    baseline: Baseline, host: str, judgement: Judgement, *, rules: str, interface: str = "",
    judged: bool = True,
) -> Since:  # fmt: skip
    """What differs now. Unless the host was `judged`, nothing is reported as gone."""
    before: dict[str, int] = {}
    for one in baseline.findings:
        name, level = key(one.id), SEVERITIES.index(one.severity)
        before[name] = min(level, before.get(name, level))
    new = tuple(
        one for one in judgement.findings
        if SEVERITIES.index(one.severity) < before.get(key(one.id), len(SEVERITIES))
    )  # fmt: skip
    now = {key(one.id) for one in (*judgement.findings, *judgement.muted)}
    gone = [one for one in baseline.findings if key(one.id) not in now and judged]
    if interface:  # the others were not looked at
        gone = [one for one in gone if one.id.partition("@")[2].split("/")[0] == interface]
    return Since(baseline, new, tuple(gone), tuple(_remarks(baseline, host, rules)))


def _remarks(baseline: Baseline, host: str, rules: str) -> Iterable[str]:
    if baseline.host != host:
        yield f"the baseline is of another host, {baseline.host}"
    if not baseline.rules:
        yield "the baseline does not say with which rules it was made"
    elif baseline.rules != rules:
        version = f" (nettop {baseline.version})" if baseline.version else ""
        yield f"the baseline was made with other rules{version}"


def key(finding: str) -> str:
    """The finding without the numbers that differ from run to run."""
    text = _PID.sub("", finding)
    return _PORT.sub(lambda port: ":*" if int(port[1]) >= EPHEMERAL else port[0], text)


def rules_in_force() -> str:
    """A short name of the rules and thresholds, which differs if one of them does."""
    return digest([str(folder) for folder in config.rule_folders()], config.load().limits)


def digest(folders: Sequence[str], limits: Mapping[str, object]) -> str:
    """The name of the files in these folders and of the user's thresholds."""
    whole = hashlib.sha256(repr(sorted((k, repr(v)) for k, v in limits.items())).encode())
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.toml")):
            try:
                whole.update(path.name.encode() + b"\0" + bounds.read(path, "rule"))
            except OSError:
                continue  # the loader has reported it
    return whole.hexdigest()[:12]


def document(change: Since) -> dict[str, object]:
    """The difference as data; the new findings are those of the whole document."""
    baseline = change.baseline
    return {
        "host": baseline.host, "at": baseline.at or None, "version": baseline.version or None,
        "findings": len(baseline.findings), "gone": list(change.gone),
        "remarks": list(change.remarks),
    }  # fmt: skip
