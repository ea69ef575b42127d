"""Write the Ansible collection that is part of nettop: roles that audit and change many hosts.

docs.ansible.com/ansible/latest/dev_guide/developing_collections_structure.html describes its files.
"""

import errno
import os
from pathlib import Path
from typing import Final

from .. import __version__
from ..files.draft import write

COLLECTION: Final = Path(__file__).parent / "collection"
_VERSION: Final = "version: 0.0.0\n"


def files() -> dict[str, bytes]:
    """The content of each file by its path in the collection."""
    contents = {
        path.relative_to(COLLECTION).as_posix(): path.read_bytes()
        for path in sorted(COLLECTION.rglob("*"))
        if path.is_file()
    }
    own = f"version: {__version__}\n".encode()
    contents["galaxy.yml"] = contents["galaxy.yml"].replace(_VERSION.encode(), own)
    return contents


def write_collection(folder: str) -> None:
    """Write it into a folder that does not exist or is empty; OSError."""
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), folder)
    for name, content in files().items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, content)
