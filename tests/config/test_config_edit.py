"""config.toml is changed key by key: everything else in it stays, a foreign file as a whole."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from nettop import config
from nettop.config import ConfigError, save

TEXT = """# my settings
theme = "light"        # dark light
 interval=2.0

# widths
[columns]   # tables
flows = ["process",
  "peer"]   # two
[limits.rx-ring-overrun]  # own
drops = 10
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "nettop").mkdir(mode=0o700)
    return tmp_path / "nettop/config.toml"


def test_comments_order_and_layout_stay(file: Path) -> None:
    file.write_text(TEXT)
    save({"theme": "mono", "interval": 5.0, "columns.flows": ("peer", "rate")})
    assert file.read_text() == TEXT.replace('"light" ', '"mono" ').replace("2.0", "5.0").replace(
        '["process",\n  "peer"]', '["peer", "rate"]'
    )


def test_a_new_key_is_put_before_the_tables(file: Path) -> None:
    file.write_text(TEXT)
    save({"bell": True, "columns.nic": ("setting",)})
    text = file.read_text()
    assert text.index("bell = true") < text.index("[columns]")
    assert tomllib.loads(text) == {
        **tomllib.loads(TEXT), "bell": True,
        "columns": {"flows": ["process", "peer"], "nic": ["setting"]},
    }  # fmt: skip
    for line in TEXT.splitlines():
        assert line in text.splitlines()


@pytest.mark.parametrize(
    "text",
    ["", "# only a comment", "columns.flows = ['peer']\n", "columns = { flows = ['peer'] }\n",
     "[limits.x]\ny = 1", "theme = 'dark'\r\n[limits.x]\r\ny = 1\r\n", "\n\n[columns]\n"],
)  # fmt: skip
def test_every_layout_of_toml_can_be_changed(text: str, file: Path) -> None:
    file.write_bytes(text.encode())
    save({"theme": "mono", "mouse": False, "columns.flows": ("rate",), "columns.nic": ("now",)})
    found = tomllib.loads(file.read_bytes().decode())
    assert (found["theme"], found["mouse"]) == ("mono", False)
    assert found["columns"] == {"flows": ["rate"], "nic": ["now"]}
    assert found.get("limits") == tomllib.loads(text).get("limits")
    assert config.load().faults == ()


def test_a_missing_file_and_folder_are_made(file: Path) -> None:
    file.parent.rmdir()
    assert save({"theme": "light"}) == file
    assert config.load().values == {"theme": "light"}


def test_the_file_keeps_its_permissions_and_its_link(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(TEXT)
    real.chmod(0o604)
    file.symlink_to(real)
    save({"theme": "mono"})
    assert file.is_symlink()
    assert '"mono"' in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o604
    assert sorted(one.name for one in tmp_path.iterdir()) == ["dotfiles.toml", "nettop"]


def broken(file: Path) -> None:
    file.write_text('theme = "dark\n')


def not_text(file: Path) -> None:
    file.write_bytes(b'theme = "\xff"\n')


def large(file: Path) -> None:
    file.write_text("#\n" * 40_000)


def no_table(file: Path) -> None:
    file.write_text("columns = 5\n")


def tables(file: Path) -> None:
    file.write_text("[[columns]]\nflows = ['peer']\n")


@pytest.mark.parametrize("make", [broken, not_text, large, no_table, tables])
def test_a_file_that_cannot_be_read_is_left_as_it_is(
    make: Callable[[Path], None], file: Path
) -> None:
    make(file)
    before = file.read_bytes()
    with pytest.raises(ConfigError, match=r"config\.toml: not written: ") as error:
        save({"theme": "light", "columns.flows": ("rate",)})
    assert "\n" not in str(error.value)
    assert file.read_bytes() == before


def test_what_is_no_file_is_refused(file: Path) -> None:
    os.mkfifo(file)
    with pytest.raises(ConfigError, match="not written: "):
        save({"theme": "light"})
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match="not written: "):
        save({"theme": "light"})


def test_the_file_of_another_user_is_left_as_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(TEXT)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(ConfigError, match="not written, because it belongs to another user"):
        save({"theme": "mono"})
    assert file.read_text() == TEXT


def test_the_library_is_imported_only_to_write(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys, nettop.config, nettop.tui.actions, nettop.panes.options;"
    code += "print('tomlkit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
