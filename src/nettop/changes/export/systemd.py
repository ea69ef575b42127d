"""Files for systemd: .link files, sysctl.d and one-shot units, as `--keep` writes them."""

from collections.abc import Sequence
from typing import Final

from ... import settings
from ...host.source import Source
from ...settings import kept
from .. import Change, persist
from . import comment

ENDING: Final = "txt"
ORDER: Final = 3


def write(changes: Sequence[Change], source: Source) -> tuple[str, tuple[str, ...]]:
    """All files in one text, each after a line with its path."""
    left = []
    for change in changes:
        try:
            kept_at = settings.parse(persist.wanted(change.setting, change.after)[0])
        except ValueError:
            left.append(change.setting)
            continue
        if kept_at.name == "link" and not kept.match(source, kept_at.nic):
            left.append(change.setting)
    pairs = [(c.setting, c.after) for c in changes if c.setting not in left]
    files = persist.preview(pairs, source)
    parts = [f"# ---- {comment(path)}\n{text}" for path, text in files.items()]
    return "\n".join(parts), tuple(left)
