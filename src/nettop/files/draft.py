"""Atomic writes of files: `write`, and `Draft` for files that grow.

A draft has no name if the file system supports O_TMPFILE (open(2)), so a killed nettop leaves no
file. Otherwise its name is random and created with O_EXCL, and symbolic links are not followed, so
another user cannot redirect the write. rename(2) replaces the target; it replaces a symbolic link
instead of following it.
"""

import os
import stat
from contextlib import suppress
from typing import IO, Final

ACCESS: Final = "system.posix_acl_access"  # the attribute of an access list
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Draft:
    """A file that becomes visible at `path` only with `keep`."""

    def __init__(self, path: str | os.PathLike[str], mode: int = 0o666) -> None:
        """`mode` is the mode of a new file, minus the umask. OSError if it cannot be created."""
        folder, self.name = os.path.split(os.fspath(path))
        if not self.name or os.path.isdir(path):
            raise IsADirectoryError(21, "Is a directory", os.fspath(path))
        self._folder = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._part: str | None = None
        try:
            self.file = self._open(mode)
        except OSError:
            os.close(self._folder)
            raise

    def _open(self, mode: int) -> IO[bytes]:
        try:
            handle = os.open(
                ".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, mode, dir_fd=self._folder
            )
            # linking it later needs /proc
            os.stat(f"/proc/self/fd/{handle}")
        except OSError:  # O_TMPFILE is not supported; a real error will occur again below
            name = self._random()
            handle = os.open(name, _NEW, mode, dir_fd=self._folder)
            self._part = name
        return open(handle, "wb")

    def _random(self) -> str:
        return f".{self.name[:200]}.{os.urandom(8).hex()}.part"

    def keep(self, *, over: bool = True, like: bool = False) -> None:
        """Sync it and give it its name; FileExistsError if the name exists and not `over`.

        `like` copies owner, group, access list and permissions of the regular file that it
        replaces; OSError if it may not.
        """
        self.file.flush()
        if like:
            with suppress(FileNotFoundError):
                self._copy_owner()
        os.fsync(self.file.fileno())
        if self._part is None:
            part = self._random() if over else self.name
            # dir_fd makes Python call linkat(2), which can follow this link to the unnamed file
            os.link(f"/proc/self/fd/{self.file.fileno()}", part, dst_dir_fd=self._folder)
            self._part = part if over else None
        if over and self._part is not None:
            os.rename(self._part, self.name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            self._part = None
        elif self._part is not None:
            at = self._folder
            os.link(self._part, self.name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        os.fsync(self._folder)
        self.drop()

    def _copy_owner(self) -> None:
        """Copy owner, group and permissions from the file of that name, if it is a regular one."""
        old = os.stat(self.name, dir_fd=self._folder, follow_symlinks=False)
        if not stat.S_ISREG(old.st_mode):
            return
        new = self.file.fileno()
        own = os.fstat(new)
        if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(new, old.st_uid, old.st_gid)
        os.fchmod(new, stat.S_IMODE(old.st_mode))
        # with an access list, the group bits of the mode are its mask (acl(5))
        with suppress(OSError):
            source = f"/proc/self/fd/{self._folder}/{self.name}"
            os.setxattr(new, ACCESS, os.getxattr(source, ACCESS, follow_symlinks=False))

    def drop(self) -> None:
        """Remove the draft unless it was kept. Can be called repeatedly."""
        if self.file.closed:
            return
        with suppress(OSError):
            self.file.close()
        if self._part is not None:
            with suppress(OSError):
                os.unlink(self._part, dir_fd=self._folder)
        os.close(self._folder)


def write(
    path: str | os.PathLike[str], data: str | bytes, mode: int = 0o666, *, over: bool = True
) -> None:
    """Write `data` to `path` atomically and sync it.

    `mode` applies to a new file; a replaced file keeps its mode and owner. FileExistsError without
    `over`.
    """
    draft = Draft(path, mode)
    try:
        draft.file.write(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
        draft.keep(over=over, like=over)
    finally:
        draft.drop()
