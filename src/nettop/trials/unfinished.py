"""The runs of a sweep on disk, so that an interrupted sweep can be continued.

One file for each sweep, named by what is measured, in `$XDG_STATE_HOME/nettop/unfinished`: one JSON
line for each counted run, written before the next one starts. The last round is not used again: its
runs would be compared with runs from after the interruption.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..config import state_folder
from ..files import bounds
from ..terms.dataclass import dataclass
from .experiment import Sample

_FIELDS: Final = {"round", "state", "figure", "losses", "faults"}


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The file of one sweep."""

    path: Path

    @classmethod
    def of(cls, about: Mapping[str, object], where: Path | None = None) -> Unfinished:
        """The file of the sweep that measures `about`: any other measurement has another file."""
        text = json.dumps(about, sort_keys=True, default=str)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        return cls((where or state_folder() / "unfinished") / f"sweep-{name}.jsonl")

    def add(self, number: int, state: int, sample: Sample) -> None:
        """Append a run of round `number`; a full disk does not fail a sweep."""
        line = {
            "round": number, "state": state, "figure": sample.figure,
            "losses": dict(sample.losses), "faults": list(sample.faults),
        }  # fmt: skip
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            handle = os.open(self.path, flags, 0o600)
            try:
                os.write(handle, json.dumps(line).encode() + b"\n")
            finally:
                os.close(handle)

    def samples(self) -> dict[int, list[Sample]]:
        """The runs by state; empty without a file. ValueError for a damaged one."""
        found: dict[int, list[Sample]] = {}
        for _, state, sample in self._rows():
            found.setdefault(state, []).append(sample)
        return found

    def cut(self) -> None:
        """Remove the last round, which may be incomplete: a continued sweep repeats it."""
        rows = self._rows()
        last = max((number for number, _, _ in rows), default=0)
        self.forget()
        for number, state, sample in rows:
            if number < last:
                self.add(number, state, sample)

    def _rows(self) -> list[tuple[int, int, Sample]]:
        try:
            text = bounds.read(self.path, "result").decode("utf-8", "replace")
        except FileNotFoundError:
            return []
        # a line that was cut off has no end
        return [_row(line, self.path) for line in text.split("\n")[:-1]]

    def forget(self) -> None:
        """Remove the file: the sweep is finished, or begins anew."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def _row(line: str, path: Path) -> tuple[int, int, Sample]:
    try:
        row = json.loads(line)
        if not isinstance(row, dict) or row.keys() != _FIELDS:
            raise ValueError
        losses = {str(name): float(value) for name, value in row["losses"].items()}
        sample = Sample(float(row["figure"]), losses, tuple(map(str, row["faults"])))
        return int(row["round"]), int(row["state"]), sample
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{path} is damaged: remove it, or start again without --resume") from None
