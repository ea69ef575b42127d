"""A process that is hidden has not ended: the table says that it is not whole."""

import pytest
from host_files import host

from nettop.collect import _pids, processes
from nettop.frame.rates import Partly

LINE = "{} (x) S 1 1 1 0 -1 4194304 0 0 0 0 9 5 0 0 20 0 1 0 777 0 0" + " 0" * 14 + " 6 0 0 0"
SEEN = {f"/proc/{pid}/stat": LINE.format(pid) for pid in (1, 5, 6)}
INVISIBLE = {name: line for name, line in SEEN.items() if name != "/proc/1/stat"}
NO_ACCESS = {**SEEN, "/proc/7/stat": "!1 Operation not permitted"}
ENDED = {**SEEN, "/proc/7/": ""}


@pytest.mark.parametrize("most", [_pids.MANY, 2])
@pytest.mark.parametrize(
    ("files", "hidden"), [(SEEN, False), (INVISIBLE, True), (NO_ACCESS, True), (ENDED, False)]
)
def test_hidden_processes_are_said(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch, most: int, *, hidden: bool
) -> None:
    monkeypatch.setattr(_pids, "MANY", most)
    rows = processes.update(host(files), {})
    assert isinstance(rows, Partly) == hidden
    if isinstance(rows, Partly):
        assert rows.why == processes.HIDDEN
