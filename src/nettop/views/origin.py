"""What a scene shows if it is not this host: another host, a recording or a directory."""

from __future__ import annotations

from typing import Final, Literal

from ..facts.pair.words import short
from ..host.source import Source
from ..terms.dataclass import dataclass

_TEXTS: Final = {"host": "via", "recording": "replay of", "directory": "directory"}


@dataclass(frozen=True, slots=True)
class SceneOrigin:
    """The other host (`name` is its command prefix), recording or directory."""

    kind: Literal["host", "recording", "directory"]
    name: str

    @property
    def text(self) -> str:
        """The origin in a few words: `via ssh web1`, `replay of web1`."""
        return f"{_TEXTS[self.kind]} {self.name}"

    @property
    def brief(self) -> str:
        """The text for a narrow screen: `via web1` of a long command prefix."""
        return f"via {short(self.name)}" if self.kind == "host" else self.text


def origin_of(source: Source) -> SceneOrigin | None:
    """The origin of the scenes of a source; None for this host."""
    if source.live:
        return None
    far = source.batches
    if far is not None:
        return SceneOrigin("host", far.name)
    return SceneOrigin("recording" if source.ends else "directory", source.host)
