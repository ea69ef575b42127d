"""What is said is so: README examples run, its tables are the program's, everything has help."""

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from folded import folded

from nettop import __version__, cli, panes
from nettop.advice.language import vocabulary
from nettop.advice.rules.load import load
from nettop.commands import _manual as manual
from nettop.commands import man
from nettop.files import bounds
from nettop.tui.keys import BY_KEY, GROUPS, KEYS, shown_as

REPO = Path(__file__).parents[2]
README = REPO / "README.md"
PAGES = [README, *sorted((REPO / "docs").glob("*.md"))]  # what users read; docs/records are records
WIDE = "…"  # a line of an example that stands for any number of lines
AGAIN = "`pytest tests/project/test_docs.py --update` writes it anew"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's configuration, in the checkout."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(REPO)


# --- README -------------------------------------------------------------------------------------


def keys_table() -> list[str]:
    """The keys by group."""
    rows = ["| | |", "|---|---|"]
    for group in GROUPS:
        told = [f"`{_cell(shown_as(key))}` {key.help}" for key in KEYS if key.group == group]
        rows.append(f"| {group} | {' · '.join(told)} |")
    return rows


def commands_table() -> list[str]:
    """The commands by group, as in `nettop --help`."""
    rows = ["| command | purpose |", "|---|---|"]
    for group in manual.GROUPS:
        rows.append(f"| **{group}** | |")
        for one in manual.every():
            words = " ".join(argument.value for argument in one.arguments)
            if one.group == group:
                rows.append(f"| `{_cell(f'nettop {one.name} {words}'.strip())}` | {one.help} |")
    return rows


def make_table() -> list[str]:
    """The targets of the Makefile that say what they are for."""
    text = (REPO / "Makefile").read_text()
    found = re.findall(r"^([a-z-]+):.*?## (.*)$", text, re.MULTILINE)
    return ["| make | |", "|---|---|", *(f"| `make {name}` | {told} |" for name, told in found)]


def bounds_table() -> list[str]:
    """The most of everything that comes in."""
    rows = ["| of | at most | because |", "|---|---|---|"]
    return [*rows, *(f"| {_cell(b.what)} | {b} | {b.why} |" for b in bounds.BOUNDS.values())]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


TABLES = {
    "bounds": bounds_table,
    "keys": keys_table,
    "commands": commands_table,
    "make": make_table,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_readme_is_what_the_program_says(name: str, update: bool) -> None:
    place = re.compile(rf"(<!-- {name}: [^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
    made = "\n" + "\n".join(TABLES[name]()) + "\n\n"
    (page,) = (page for page in PAGES if place.search(page.read_text()))
    text = page.read_text()
    if update:
        text = place.sub(lambda hit: hit[1] + made + hit[3], text)
        page.write_text(text)
    found = place.search(text)
    assert found is not None
    assert found[2] == made, AGAIN


def examples(language: str) -> list[tuple[Path, str]]:
    """The pages and the fenced blocks of a language; parts.md has tests of its own."""
    return [
        (page, body)
        for page in PAGES
        if page.name != "parts.md"
        for kind, body in FENCE.findall(page.read_text())
        if kind == language
    ]


def output(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command of an example prints."""
    words = shlex.split(line)
    assert words[0] == "nettop"
    code = cli.main(words[1:])
    out, err = capsys.readouterr()
    assert code in (0, 1), err
    return out


def test_the_number_of_rules_about_both_ends_is_theirs() -> None:
    counted = re.findall(
        r"(\d+) rules (?:\(`rules/ends`\) )?compare", (REPO / "docs/far.md").read_text()
    )
    rules = [rule for rule in load([REPO / "rules"]) if rule.surface == "ends"]
    assert counted == [str(len(rules))], f"docs/far.md: rules/ends has {len(rules)} rules"


def anew(shown: str, made: str) -> str:
    """An example written again: whole, or as many lines before its final gap as there were."""
    head, gap, tail = shown.partition(f"\n{WIDE}\n")
    if tail:  # gaps inside: chosen by hand
        return shown
    lines, count = made.splitlines(keepends=True), head.count("\n") + 1
    return "".join(lines[:count]) + f"{WIDE}\n" if gap and count < len(lines) else made


@folded("number", range(len(examples("console"))))
def test_an_example_prints_what_the_readme_shows(
    number: int, update: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    page, body = examples("console")[number]
    first, _, shown = body.partition("\n")
    assert first.startswith("$ ")
    made = output(first[2:], capsys)
    if update:
        text, old = page.read_text(), f"```console\n{first}\n{shown}```"
        shown = anew(shown, made)
        page.write_text(text.replace(old, f"```console\n{first}\n{shown}```"))
    pattern = ".*".join(re.escape(part) for part in shown.split(f"{WIDE}\n"))
    assert len(pattern) > 80
    assert re.fullmatch(pattern, made, re.DOTALL), f"{AGAIN}\n{made}"


def shell_lines() -> list[str]:
    """The commands of `sh` examples, without their remarks."""
    return [
        line.partition("  #")[0].strip()
        for _, body in examples("sh")
        for line in body.splitlines()
        if line.strip()
    ]


@folded("line", shell_lines())
def test_a_command_of_the_readme_is_understood(line: str) -> None:
    words = shlex.split(line)
    if words[0] == "make":
        assert any(f"`{line}`" in row for row in make_table())
    elif words[0] == "nettop":
        name = "top" if len(words) == 1 or words[1].startswith("-") else words[1]
        given = words[1:] if name == "top" else words[2:]
        cli._command(name).parse_args(given)
    else:
        assert words in (["./nettop-x86_64"], ["pipx", "install", "."])


def test_the_readme_begins_with_an_answer_and_a_picture() -> None:
    lines = README.read_text().splitlines()
    assert lines[0] == "# nettop"
    assert any("](screenshots/" in line for line in lines[:10])
    assert any('nettop --host "ssh web1"' in line for line in lines[:20])
    assert "$ nettop advise --replay rules/demo.host.gz" in lines[:40]


@pytest.mark.parametrize(
    ("name", "most"), [("README", 250), ("CONTRIBUTING", 250), ("CHANGELOG", 30)]
)
def test_a_front_page_is_short(name: str, most: int) -> None:
    assert len((REPO / f"{name}.md").read_text().splitlines()) <= most


def test_each_page_is_reached_from_the_front_page() -> None:
    text = README.read_text() + (REPO / "CONTRIBUTING.md").read_text()
    assert [page.name for page in PAGES[1:] if f"](docs/{page.name}" not in text] == []


def test_make_help_has_ten_targets_at_most() -> None:
    assert len(make_table()) - 2 <= 10


def links() -> list[tuple[Path, str]]:
    """Every relative link of the pages."""
    pages = [*PAGES, REPO / "CONTRIBUTING.md", REPO / "CHANGELOG.md", REPO / "rules/README.md"]
    found = [
        (page, target.partition("#")[0])
        for page in pages
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    ]
    return [(page, target) for page, target in found if target and "://" not in target]


def test_links_lead_somewhere() -> None:
    assert len(links()) > 50
    dead = [f"{page.name}: {target}" for page, target in links()
            if not (page.parent / target).exists()]  # fmt: skip
    assert dead == []


def test_the_changelog_has_what_is_coming_and_what_is_out() -> None:
    text = (REPO / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in text
    assert __version__ in text
    heads = set(re.findall(r"^### (\w+)$", text, re.MULTILINE))
    assert heads <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_says_nothing_twice() -> None:
    """Merges of branches kept both sides more than once."""
    text = (REPO / "CHANGELOG.md").read_text()
    entries = [" ".join(one.split()) for one in re.split(r"\n(?=- |\n|#)", text)]
    told = Counter(one[:60] for one in entries if one.startswith("- "))
    assert [one for one, count in told.items() if count > 1] == []


def test_the_version_is_one() -> None:
    text = (REPO / "pyproject.toml").read_text()
    assert f'version = "{__version__}"' in text


# --- help ---------------------------------------------------------------------------------------


@folded("name", panes.names())
def test_a_pane_is_reached_by_a_key_and_has_a_name(name: str) -> None:
    module = panes.pane(name)
    assert module.TITLE
    assert module.KEY in BY_KEY
    assert module.__doc__


def test_every_key_has_help_and_a_group() -> None:
    assert all(key.help and key.group in GROUPS for key in KEYS)
    keys = [name for key in KEYS for name in key.keys]
    assert len(keys) == len(set(keys))


def test_the_overview_has_every_command_in_a_group_and_five_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    sections = dict(re.findall(r"^(\w+):\n((?:  .*\n)+)", shown, re.MULTILINE))
    assert [*sections][:6] == [*manual.GROUPS, "examples"]
    listed = {group: re.findall(r"^  (\w+) ", sections[group], re.MULTILINE)
              for group in manual.GROUPS}  # fmt: skip
    assert {name: group for group, names in listed.items() for name in names} == {
        one.name: one.group for one in manual.every()
    }
    assert len(manual.EXAMPLES) == 5
    assert all(typed in sections["examples"] for typed, _ in manual.EXAMPLES)


@folded("typed", [typed for typed, _ in (*manual.EXAMPLES, *man.texts()["examples"].items())])
def test_an_example_of_the_help_is_understood(typed: str) -> None:
    words = shlex.split(typed.removeprefix("sudo "))
    assert words[0] == "nettop"
    name = "top" if len(words) == 1 or words[1].startswith("-") else words[1]
    cli._command(name).parse_args(words[1:] if name == "top" else words[2:])


@folded("command", manual.every(), ids=lambda one: one.name)
def test_a_command_and_its_options_have_help(command: manual.CommandHelp) -> None:
    assert command.help
    assert command.page.splitlines()[0].endswith((".", ":"))
    for option in command.options:
        assert option.help, option.names


def test_every_word_of_rules_has_help() -> None:
    silent = [
        f"{name}.{field}"
        for name, kind in vocabulary.KINDS.items()
        for field, word in vocabulary.words(kind).items()
        if not word.help
    ]
    assert silent == []


# --- manual page and completion -----------------------------------------------------------------
