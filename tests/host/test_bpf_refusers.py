"""What may have refused a call: a filter of seccomp, a program of its control group, a sandbox."""

import errno

import pytest

from nettop.host.bpf import attached


@pytest.mark.parametrize(("error", "mode", "words"), [
    (errno.EPERM, 0, "deny@/web"), (errno.EPERM, 2, "seccomp,deny@/web"),
    (errno.EACCES, 2, "seccomp"), (errno.EACCES, 0, "confined"), (errno.ENETUNREACH, 0, ""),
])  # fmt: skip
def test_a_sandbox_is_told_where_nothing_nearer_is_known(
    monkeypatch: pytest.MonkeyPatch, error: int, mode: int, words: str
) -> None:
    monkeypatch.setattr(attached, "of_group", lambda _name, _pid: ["deny@/web"])
    monkeypatch.setattr(attached, "confined", lambda _pid: ["confined"])
    assert attached.Refusers().of("connect", error, 7, mode) == words
