"""The path of a Unix socket, of which a failed call keeps the begin and the end."""

from pathlib import Path
from tempfile import TemporaryDirectory

from nettop.host.bpf import names as bpf_names


def test_a_path_is_kept_as_far_as_it_fits_and_completed_by_the_sockets_that_listen() -> None:
    def path(raw: bytes, end: bytes = bytes(8), *names: str) -> tuple[int, str]:
        return bpf_names.path(raw.ljust(16, b"\0"), end, dict(enumerate(names, start=5)))

    assert path(b"/run/db.sock") == (0, "/run/db.sock")
    assert path(b"/run/db.sock", bytes(8), "/run/db.sock", "/run/db.sock2") == (5, "/run/db.sock")
    assert path(b"/run/a/long/name") == (0, "/run/a/long/name…")
    long = "/run/a/long/name/a.sock", "/run/a/long/name/b.sock"
    assert path(b"/run/a/long/name", b"e/b.sock", *long) == (6, long[1])
    assert path(b"/run/a/long/name", b"/b.sock\0", *long) == (6, long[1])
    assert path(b"/run/a/long/name", bytes(8), *long) == (0, "/run/a/long/name…")
    assert path(b"\0name", bytes(8), "@name") == (5, "@name")
    assert path(b"") == (0, "")


def test_the_path_of_a_socket_whose_program_has_ended_is_that_of_its_file() -> None:
    with TemporaryDirectory(dir="/tmp") as folder:  # as short as the part of a path that is kept
        stale = Path(folder, "app.sock")
        raw, end = str(stale).encode()[:16], str(stale).encode()[-8:]
        assert bpf_names.path(raw, end, {}) == (0, f"{raw.decode()}…app.sock")
        stale.touch()
        assert bpf_names.path(raw, end, {}) == (0, str(stale))
        Path(folder, "my-app.sock").touch()  # several fit
        assert bpf_names.path(raw, end, {}) == (0, f"{raw.decode()}…app.sock")
