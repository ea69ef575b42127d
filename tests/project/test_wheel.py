"""The wheel works where nothing of the checkout is: rules, demo, manual page, commands."""

import json
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from nettop import __version__, commands
from nettop.commands.top import demo
from nettop.fleet import ansible as collection

pytestmark = pytest.mark.package
REPO = Path(__file__).parents[2]
SHARE = ("man/man1/nettop.1", "man/man7/nettop.7", "bash-completion/completions/nettop",
         "zsh/site-functions/_nettop", "fish/vendor_completions.d/nettop.fish")  # fmt: skip


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own with the wheel in it; what it depends on is lent, so no index is
    asked."""
    where = tmp_path_factory.mktemp("home") / "env"
    venv.create(where)
    words = [sys.executable, "-m", "pip", "--python", str(where), "install", "--no-index"]
    subprocess.run([*words, "--no-deps", str(wheel)], check=True, capture_output=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(where)}))
    lent = own / "lent"  # the packages of this environment, without its nettop
    lent.mkdir()
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if "nettop" not in package.name.lower():
            (lent / package.name).symlink_to(package)
    (own / "lent.pth").write_text(f"{lent}\n")
    return where


def nettop(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The installed command, outside the checkout and without its environment."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    return subprocess.run(
        [str(home / "bin/nettop"), *words],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_carries_what_it_needs(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = {str(p.relative_to(REPO / "src")) for p in (REPO / "src/nettop").rglob("*.py")}
    rules = {f"nettop/rules/{p.relative_to(REPO / 'rules')}" for p in (REPO / "rules").rglob("*.*")}
    assert source | rules <= inside
    assert "nettop/rules/demo.host.gz" in inside
    assert {"nettop/schema.json", "nettop/py.typed"} <= inside
    assert {f"nettop/fleet/collection/{name}" for name in collection.files()} <= inside
    data = f"nettop-{__version__}.data/data/share"
    assert {f"{data}/{name}" for name in SHARE} <= inside
    assert not [name for name in inside if "__pycache__" in name or name.endswith("_test.py")]


def test_its_description_is_the_readme_without_what_an_index_cannot_show(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        path = f"nettop-{__version__}.dist-info/METADATA"
        head, _, text = packed.read(path).decode().partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    assert "Classifier: Typing :: Typed" in head
    assert text.startswith("# nettop\n\n`nettop` finds what limits")
    assert not re.findall(r"!\[|\]\((?!https?://|#)", text)
    assert not re.findall(r"(?m)^\|.*(?:screenshots|story|!The|1\. The overview|\*\*3\.)", text)
    lone = re.findall(r"(?m)^\|(?:---\|)+\n(?!\|)", text)  # a table without a row
    assert not lone
    readme = (REPO / "README.md").read_text()
    for title in re.findall(r"^## .*$", readme, re.MULTILINE):
        assert title in text
    assert "pip install ." in text


def test_it_carries_the_hosts_that_rules_are_tested_on(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    named = {
        f"nettop/rules/tests/{name}"
        for path in (REPO / "rules").rglob("*.toml")
        for name in re.findall(r'^recorded\s*=\s*"(.*)"', path.read_text(), re.MULTILINE)
    }
    assert named <= inside, "see build_hook.recorded"


def test_it_says_its_version_and_is_not_the_checkout(home: Path) -> None:
    assert nettop(home, "--version").stdout == f"nettop {__version__}\n"
    words = [str(home / "bin/python"), "-c", "import nettop; print(nettop.__file__)"]
    env = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, cwd=home, env=env, capture_output=True, text=True, check=True)
    found = done.stdout
    assert found.startswith(str(home))


def test_it_advises_from_its_own_rules(home: Path) -> None:
    done = nettop(home, "advise", "--json", "--replay", demo())
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert found["findings"]


def test_every_command_is_there(home: Path) -> None:
    script = """if True:
        import sys
        from nettop import cli, commands
        for name in commands.names():
            assert cli.main([name, "--help"]) == 0, name
        print(*commands.names())
    """
    words = [str(home / "bin/python"), "-c", script]
    done = subprocess.run(words, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == " ".join(commands.names())


def test_the_screen_can_be_imported(home: Path) -> None:
    words = [str(home / "bin/python"), "-c", "import nettop.tui.app"]
    done = subprocess.run(words, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_manual_and_completion_are_installed(home: Path) -> None:
    for name in SHARE:
        assert (home / "share" / name).stat().st_size > 1000
