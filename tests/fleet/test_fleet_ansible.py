"""The Ansible collection that `nettop fleet --ansible` writes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nettop import __version__
from nettop.cli import main
from nettop.fleet.ansible import files

BIN = Path(sys.executable).parent
ROLES = ("audit", "box", "metrics", "tune", "undo")


def tool(name: str) -> str:
    """The path of a program of Ansible; the test is skipped without it."""
    found = shutil.which(name, path=f"{BIN}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"needs {name}: pip install 'nettop[dev]'")
    return found


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("c") / "ansible_collections/nettop/nettop"
    folder.parent.mkdir(parents=True)
    assert main(["fleet", "--ansible", str(folder)]) == 0
    return folder


def environment(collection: Path, home: Path) -> dict[str, str]:
    own = {"PATH": f"{BIN}:{os.environ['PATH']}", "ANSIBLE_HOME": str(home), "HOME": str(home)}
    return {**os.environ, **own, "ANSIBLE_COLLECTIONS_PATH": str(collection.parents[2]),
            "NO_COLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "false"}  # fmt: skip


def test_the_collection_has_the_version_of_nettop_and_all_roles(collection: Path) -> None:
    assert f"version: {__version__}\n" in (collection / "galaxy.yml").read_text()
    assert sorted(path.name for path in (collection / "roles").iterdir()) == list(ROLES)
    for role in ROLES:
        defaults = (collection / f"roles/{role}/defaults/main.yml").read_text()
        specs = (collection / f"roles/{role}/meta/argument_specs.yml").read_text()
        for line in defaults.splitlines():
            if line.startswith(role):
                assert f"      {line.partition(':')[0]}:\n" in specs
    assert all(len(content) < 8000 for content in files().values())


def test_a_folder_with_files_is_not_written_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("mine")
    assert main(["fleet", "--ansible", str(tmp_path)]) == 4
    assert "Directory not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert main(["fleet", "--ansible", "/proc/nowhere"]) == 4
    assert main(["fleet", "--ansible", str(tmp_path / "x"), "file"]) == 2
    assert main(["fleet"]) == 2


def test_galaxy_installs_it(collection: Path, tmp_path: Path) -> None:
    words = [tool("ansible-galaxy"), "collection", "install", str(collection), "-p", str(tmp_path)]
    own = environment(collection, tmp_path)
    own["ANSIBLE_COLLECTIONS_PATH"] = str(tmp_path)  # not where it is already
    done = subprocess.run(words, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    installed = tmp_path / "ansible_collections/nettop/nettop"
    assert (installed / "roles/tune/tasks/main.yml").is_file()
    assert (installed / "playbooks/rollout.yml").is_file()


def test_the_playbooks_are_understood(collection: Path, tmp_path: Path) -> None:
    names = [f"nettop.nettop.{path.stem}" for path in (collection / "playbooks").iterdir()]
    assert len(names) == 3
    done = subprocess.run(
        [tool("ansible-playbook"), "--syntax-check", "-i", "a,b,", *names],
        env=environment(collection, tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.package
@pytest.mark.parametrize("folder", [str(BIN), "/usr/bin"])  # the newest, and the distribution's
def test_the_production_profile_has_no_complaint(
    collection: Path, tmp_path: Path, folder: str
) -> None:
    if not (program := Path(folder, "ansible-lint")).exists():
        pytest.skip(f"needs {program}")
    own = environment(collection, tmp_path)
    own["PATH"] = f"{folder}:/usr/bin:/bin"
    done = subprocess.run(
        [program, "--offline", "--profile", "production", "--nocolor"],
        cwd=collection, env=own, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failure(s), 0 warning(s)" in done.stderr
