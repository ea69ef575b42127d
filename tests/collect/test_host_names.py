"""Names that hosts(5) gives destinations, as nettop and as failing processes see the file."""

from typing import Any

import pytest

from nettop.collect import host_names
from nettop.collect.host_names import Row
from nettop.collect.ways import Asked, Question

FILES = {
    "/etc/hosts": "127.0.0.1 me\n10.0.0.9\tdb.test db  # old\n10.0.0.9 also\n#10.0.0.8 x\n\n",
    "/proc/7/root/etc/hosts": "127.0.0.1 localhost\nFD00::0:9 web.test\nnone\n",
}
FILES["/proc/8/root/etc/hosts"] = FILES["/etc/hosts"]


class Host:
    def text(self, path: str) -> str:
        if path not in FILES:
            raise FileNotFoundError(2, "No such file or directory")
        return FILES[path]


def rows(*processes: int, to: tuple[str, ...] = ("10.0.0.9", "fd00::9", "10.0.0.8")) -> list[Row]:
    host: Any = Host()
    asked = Asked(tuple(map(Question, to)), processes)
    return [one for one in host_names.update(host, {Asked: asked}) if one.names]


def test_the_names_of_an_address_are_those_of_each_line_in_the_file_of_each_process() -> None:
    names = ("db.test", "db", "also")
    assert rows(7, 8, 9) == [
        Row("10.0.0.9", 0, "/etc/hosts", names),
        Row("fd00::9", 7, "/proc/7/root/etc/hosts", ("web.test",)),
        Row("10.0.0.9", 8, "/etc/hosts", names),  # the same file; 9 is gone
    ]
    assert rows(to=()) == []


def test_the_end_of_a_long_file_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "0.0.0.0 ads.test\n" * (host_names.LARGEST // 16)
    monkeypatch.setitem(FILES, "/etc/hosts", f"10.0.0.8 near\n{long}10.0.0.9 far\n")
    assert rows() == [Row("10.0.0.8", 0, "/etc/hosts", ("near",))]
