"""Words of systemd's unit files."""

from __future__ import annotations

from typing import Final

FOLDER: Final = "/etc/systemd/system"


def quoted(word: str, dollar: str = "$$") -> str:
    """The word for a unit file (systemd.service(5)): quoted, `%` doubled, and `$` in commands.

    ValueError for a control character, which would begin another line.
    """
    if not word.isprintable():
        raise ValueError(f"{word!r} cannot be written in a unit file")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = escaped.replace("$", dollar)
    return f'"{escaped}"' if escaped != word or " " in word or "'" in word else escaped
