"""A recorded host as a directory, for `--root`: its files, links and folders at the last moment."""

from pathlib import Path

from nettop.host.archive import load, parse


def stand(recording: Path, root: Path) -> list[Path]:
    """Write the tree below `root`; returns its files. What was an error or netlink is left out."""
    tree: dict[str, bytes | None] = {}
    for moment in parse(load(str(recording)))[1]:
        tree |= moment.changed
    files = set()
    for name, body in sorted(tree.items()):
        if body is None or body.startswith(b"!") or not name.startswith("/"):
            continue
        place = root / name.strip("/").removesuffix("@")
        if name.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            for entry in body.decode().splitlines():
                if f"{name}{entry}/" in tree:
                    (place / entry).mkdir(exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("@"):
            if not place.exists():
                place.symlink_to(body.decode().rstrip("\n"))
        else:
            place.write_bytes(body)
            files.add(place.resolve())  # links give some of them a second name
    return sorted(files)
