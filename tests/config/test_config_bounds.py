"""Each key of the configuration at the ends of its range, and the list of muted findings."""

from pathlib import Path
from typing import Any

import pytest

from nettop import config as files


def config(text: str) -> Any:
    place = files.user_folder()
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.toml").write_text(text)
    return files.load()


def fault(text: str) -> str:
    """The sentence about the one invalid entry, which is ignored."""
    found = config(text)
    assert found.values == {}
    (sentence,) = found.faults
    return str(sentence)


@pytest.mark.parametrize("key", ["interval", "budget"])
@pytest.mark.parametrize("value", [0.1, 1])
def test_the_smallest_values(key: str, value: float) -> None:
    assert config(f"{key} = {value}").get(key, None) == value


@pytest.mark.parametrize(("line", "why"), [
    ("interval = 0.09", "interval must be 0.1 to 3600 seconds, not 0.09"),
    ("interval = 3600.1", "interval must be 0.1 to 3600 seconds, not 3600.1"),
    ("budget = 0.09", "budget must be 0.1 to 100 percent, not 0.09"),
    ("budget = 100.1", "budget must be 0.1 to 100 percent, not 100.1"),
    ("interval = true", "interval has an invalid value: True"),
    ("interval = '1'", "interval has an invalid value: '1'"),
])  # fmt: skip
def test_other_values_are_refused(line: str, why: str) -> None:
    assert fault(line).endswith(f"config.toml: {why}")


@pytest.mark.parametrize("line", ["interval = 3600", "budget = 100", "budget = 100.0"])
def test_the_largest_values(line: str) -> None:
    assert not config(line).faults


@pytest.mark.parametrize(("length", "shown"), [(58, "'{}'"), (59, "'{}…")])
def test_a_long_value_is_cut_off(length: int, shown: str) -> None:
    cut = "x" * min(length, 58)
    assert fault(f"interval = '{'x' * length}'").endswith(f"invalid value: {shown.format(cut)}")


def test_muted_findings_are_lines_and_comments_are_not() -> None:
    files.mute(["rx-ring@eth0", "a@b"])
    assert files.muted() == ["rx-ring@eth0", "a@b"]
    place = files.user_folder() / "muted"
    place.write_text("# why\n\n  \n rx-ring@eth0 \na#b@c\n#x\n")
    assert files.muted() == ["rx-ring@eth0", "a#b@c"]
    place.unlink()
    assert files.muted() == []


def test_a_folder_is_made_below_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "a/b/c"))
    files.mute(["x@y"])
    files.mute([])
    assert files.muted() == []
