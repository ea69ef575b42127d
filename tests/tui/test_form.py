"""The form of pane 6: what it can run, known peers, and the questions before experiments."""

import os
from dataclasses import replace
from pathlib import Path

import fake_host
import pytest
from pane_text import words
from scenes import RING, lossy

from nettop.advice.rules.rule import Finding, Wanted
from nettop.panes import pane
from nettop.terms.text import text_of
from nettop.trials import prove, tune
from nettop.tui.experiments import Experiments
from nettop.tui.keys import Ask, act, press
from nettop.tui.notes import Update
from nettop.tui.planning import Planning
from nettop.tui.trying import TrialBench, positive
from nettop.views.form import peers, provable, values
from nettop.views.scene import (
    Ended,
    Peer,
    Question,
    Scene,
    SceneOrigin,
    Step,
    StoredResult,
)
from nettop.views.view import View

BACKLOG = "sysctl.net.core.netdev_max_backlog"
FORM = {"to": "192.0.2.9", "what": "sweep", "setting": BACKLOG, "values": "1000 2000 4000"}


def at(name: str, **form: str) -> View:
    return View(pane="tests", form=form).at(on=f"form.{name}")


def key(name: str, view: View, scene: Scene | None = None) -> tuple[View, Ask | None]:
    return press(name, None, view, lossy() if scene is None else scene)


def test_the_form_begins_with_what_to_run_and_shows_its_fields_only() -> None:
    scene, view = lossy(), at("what")
    rows = words(pane("tests").lines(scene, view, 120, 40)).splitlines()
    assert rows[0].startswith("╭─ TEST THIS HOST ─")
    there = replace(scene, origin=SceneOrigin("host", "ssh web1"))
    first = words(pane("tests").lines(there, view, 120, 40)).splitlines()[0]
    assert first.startswith("╭─ TEST ─")
    assert "from a nettop there ─╮" in first
    names = []
    for _ in range(4):
        names.append([item for item in pane("tests").items(scene, view) if "form." in item])
        view, _ = key("right", view, scene)
    assert [("form.tool" in one, "form.setting" in one) for one in names] == [
        (True, False), (False, True), (False, False), (False, False),
    ]  # fmt: skip
    assert "form.budget" in names[2]
    assert "form.finding" in names[3]


def test_known_peers_are_offered_those_of_tests_first() -> None:
    tested = StoredResult("t", 5.0, "iperf3", "to 198.51.100.8, 10 s", to="198.51.100.8")
    scene = replace(lossy(), results=(tested,))
    assert peers(scene)[:2] == ["198.51.100.8", "192.0.2.20"]
    view, _ = key("right", at("to"), scene)
    assert view.form["to"] == "198.51.100.8"
    view, _ = key("right", view, scene)
    assert view.form["to"] == "192.0.2.20"


def test_an_address_of_the_host_shown_is_no_peer_of_it() -> None:
    scene = lossy()
    own = next(one for nic in scene.facts.here().nics for one in nic.addresses)  # type: ignore[union-attr]
    tested = StoredResult("t", 5.0, "iperf3", f"to {own}, 10 s", to=own)
    assert own not in peers(replace(scene, results=(tested,)))


def test_a_proof_at_another_host_asks_for_the_address_each_time() -> None:
    """One that was typed before may be no address of its peer."""
    scene = replace(lossy(), origin=SceneOrigin("host", "ssh web1"))
    view = View(pane="advisor", form={"to": "192.0.2.9"}).at(on=RING.id)
    asked, ask = act("prove", view, scene)
    assert (ask, asked.editing, asked.draft, asked.untouched) == (
        None,
        "form.to",
        "192.0.2.9",
        True,
    )


def test_start_without_an_address_offers_the_known_peer_in_its_field_and_does_not_start() -> None:
    view, ask = key("enter", at("start"))
    assert (view.draft, view.untouched, view.editing, ask) == ("192.0.2.20", True, "form.to", None)
    kept, ask = key("enter", view)
    assert (kept.form["to"], kept.editing, ask) == ("192.0.2.20", "", None)
    assert key("enter", kept)[1] == Ask("test")


def test_enter_opens_the_field_of_the_address_and_what_is_typed_is_its_text() -> None:
    view, _ = key("enter", at("to"))
    assert (view.editing, view.draft) == ("form.to", "192.0.2.20")
    for character in "wqB":
        view, ask = press(character, character, view, lossy())
        assert ask is None
    assert (view.draft, view.editing) == ("wqB", "form.to")
    assert key("escape", view)[0].form.get("to", "") == ""


def test_without_a_known_peer_the_address_is_asked_for() -> None:
    scene = lossy()
    assert scene.facts is not None
    alone = replace(scene, facts=replace(scene.facts, flows=()))
    assert key("enter", at("start"), alone)[0].editing == "form.to"
    assert key("enter", at("to"), alone)[0].editing == "form.to"


@pytest.mark.parametrize(
    ("name", "on"),
    [("down", "form.peer"), ("tab", "form.peer"), ("up", "form.tool"), ("shift+tab", "form.tool")],
)
def test_the_arrows_keep_what_was_typed_and_go_to_the_next_field(name: str, on: str) -> None:
    view = replace(at("to", what="test"), editing="form.to", draft="192.0.2.9 ")
    after, ask = key(name, view)
    assert (after.editing, after.form["to"], after.spot.on, ask) == ("", "192.0.2.9", on, None)


def test_the_first_character_replaces_the_old_value_of_a_field() -> None:
    opened, _ = key("enter", at("seconds", what="test"))
    assert (opened.draft, opened.untouched) == ("10", True)
    assert press("3", "3", opened, lossy())[0].draft == "3"
    typed, _ = press("3", "3", opened, lossy())
    assert press("0", "0", typed, lossy())[0].draft == "30"
    kept, _ = key("enter", opened)
    assert kept.form["seconds"] == "10"
    shorter, _ = press("backspace", None, opened, lossy())
    assert press("5", "5", shorter, lossy())[0].draft == "15"
    for name in ("enter", "escape", "down"):
        assert not key(name, opened)[0].untouched


def test_the_address_that_a_proof_asks_for_is_not_left_by_an_arrow() -> None:
    view = replace(at("to"), editing="form.to", draft="192.0.2.9", proving="ring-drops@eth0")
    assert key("down", view)[0] == view


@pytest.mark.parametrize(
    ("field", "text", "because"),
    [
        ("to", "192.0.2.9 ssh", "an address has no spaces"),
        ("seconds", "2x", "seconds must be a number above zero"),
        ("seconds", "0", "seconds must be a number above zero"),
        ("streams", "1.5", "streams must be a whole number above zero"),
        ("budget", "-3", "minutes must be a number above zero"),
        ("values", "192.0.2.20", f"{BACKLOG} takes whole numbers, not '192.0.2.20'"),
        ("values", '"1000', "No closing quotation"),
        ("setting", "ring.rz@eth0", "ring has no 'rz' (did you mean rx?)"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_starts(field: str, text: str, because: str) -> None:
    what = "sweep" if field in ("values", "setting") else "tune"
    form = {**FORM, "what": what, field: text}
    after, ask = key("enter", View(pane="tests", form=form).at(on="form.start"))
    assert (ask, after.spot.on) == (None, f"form.{field}")
    rows = words(pane("tests").lines(lossy(), after, 80, 24))
    assert rows.count(because) == 1, "the hint of the field"
    label = {"to": "address", "budget": "minutes"}.get(field, field)
    assert f"(check {label})" in rows, "at the button"


@pytest.mark.parametrize("what", ["sweep", "tune", "prove"])
def test_start_asks_for_what_the_form_says(what: str) -> None:
    view = at("start", to="192.0.2.9", what=what, finding=RING.id)
    assert key("enter", view)[1] == Ask(what, RING.id if what == "prove" else "")


def test_a_finding_to_prove_is_chosen_with_arrows() -> None:
    view, _ = key("right", at("finding", what="prove"))
    assert view.form["finding"] == RING.id


# -- questions ---------------------------------------------------------


def asked(folder: Path, verb: str, view: View, scene: Scene) -> Scene:
    updates: list[Update] = []
    host = fake_host.make(folder)
    one = Experiments(Planning(host.source, updates.append))
    getattr(one, f"do_{verb}")(Ask(verb), view, scene)
    for update in updates:
        scene = update(scene)
    return scene


def sheet(question: Question | None) -> str:
    assert question is not None
    return "\n".join(text_of(row) for row in question.sheets[0][1])


def test_a_sweep_shows_every_value_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    after = asked(tmp_path, "sweep", View(form=FORM), lossy())
    text = sheet(after.question)
    assert f"{BACKLOG}: 1000 → 2000, 4000" in text
    assert "sysctl -w net.core.netdev_max_backlog=4000" in text
    assert "tests to 192.0.2.9" in text
    assert after.question is not None
    assert after.question.wanted == ((BACKLOG, "2000"), (BACKLOG, "4000"))


def test_quotes_keep_the_numbers_of_one_value_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    file = tmp_path / "proc/sys/net/ipv4/tcp_rmem"
    file.parent.mkdir(parents=True)
    file.write_text("4096 131072 6291456\n")
    rmem = "sysctl.net.ipv4.tcp_rmem"
    form = FORM | {"setting": rmem, "values": '"4096 131072 16777216" "4096 87380 6291456"'}
    after = asked(tmp_path, "sweep", View(form=form), lossy())
    assert after.question is not None
    assert [value for _, value in after.question.wanted] == [
        "4096 131072 16777216", "4096 87380 6291456",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (FORM | {"values": ""}, "a sweep needs a setting and the values to test"),
        (FORM | {"values": "1000"}, "already has that value"),
        (FORM | {"to": ""}, "enter the address of the peer first"),
    ],
)
def test_a_sweep_that_cannot_start_says_why(
    form: dict[str, str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    after = asked(tmp_path, "sweep", View(form=form), replace(lossy(), notes=()))
    assert after.question is None
    assert text in after.notes[-1].text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2000, 4000", f"{BACKLOG} takes whole numbers, not '2000,'"),
        ('"2000', "No closing quotation"),
    ],
)
def test_a_value_that_cannot_be_set_is_refused_before_the_sweep(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ValueError, match=why):  # the thread of the request makes a note of it
        asked(tmp_path, "sweep", View(form=FORM | {"values": text}), lossy())


def test_without_root_the_command_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    after = asked(tmp_path, "sweep", View(form=FORM), lossy())
    command = f"sudo nettop sweep {BACKLOG} --value 2000 --value 4000 --to 192.0.2.9"
    assert command in after.notes[-1].text


def test_tune_shows_the_changes_of_each_finding_but_not_of_safety(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def found(name: str, value: str, *, safety: bool = False) -> Finding:
        wanted = (Wanted(BACKLOG, value),)
        return replace(RING, id=name, wanted=wanted, safety=safety)

    scene = replace(
        lossy(), findings=(found("a@host", "2000"), found("b@host", "3000", safety=True))
    )
    after = asked(tmp_path, "tune", View(form={"to": "192.0.2.9"}), scene)
    assert "1000 → 2000" in sheet(after.question)
    assert "3000" not in sheet(after.question)
    assert after.question is not None
    assert after.question.entries == ("a@host",)
    assert after.question.title == "Tune: prove 1 finding"


# -- runs --------------------------------------------------------------


def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[TrialBench, list[Scene]]:
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path))
    scenes = [replace(lossy(), notes=())]
    return TrialBench(lambda update: scenes.append(update(scenes[-1])), lambda: None), scenes


def test_an_agreed_sweep_tests_exactly_the_values_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench, scenes = ran(monkeypatch, tmp_path)
    grids: list[object] = []

    def sweep(grid: object, _on: object) -> dict[str, object]:
        grids.append(grid)
        return {"best": "4000", "margin": 0.31, "verdict": "better"}

    monkeypatch.setattr(prove, "sweep", sweep)
    bench.sweep(((BACKLOG, "2000"), (BACKLOG, "4000")), values(View(form=FORM)))
    assert grids == [[(BACKLOG, ["2000", "4000"])]]
    assert scenes[-1].notes[-1].text == f"sweep {BACKLOG}: best 4000, +31.0%, better; reverted"
    assert scenes[-1].progress is None


def test_an_agreed_tuning_proves_the_findings_within_its_minutes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench, scenes = ran(monkeypatch, tmp_path)
    runs: list[tuple[list[str], float]] = []

    def tuned(offers: list[tune.Offer], _on: object, budget: float) -> dict[str, object]:
        runs.append(([one.finding for one in offers], budget))
        return {"steps": [{"state": "kept"}], "total": {"median_difference": 0.5},
                "undo": "nettop undo 7"}  # fmt: skip

    monkeypatch.setattr(tune, "tune", tuned)
    bench.tune([RING], values(View(form={"to": "192.0.2.9", "budget": "3"})))
    assert runs == [([RING.id], 180.0)]
    assert scenes[-1].notes[-1].text == "tune: 1 of 1 kept, +50.0%; nettop undo 7"


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "nan"])
def test_the_minutes_of_a_tuning_are_a_number_above_zero(text: str) -> None:
    with pytest.raises(ValueError, match="minutes"):
        positive(text)


def test_a_test_can_prove_the_findings_that_the_overview_lists_of_both_ends() -> None:
    step = Step("ring.rx@eth0", "256", "512")
    there = replace(RING, id=f"{RING.id} at web2", host="web2", title="The ring of web2 is full")
    peer = Peer(("web1", "web2"), findings=(there,), plans={there.id: (step,)})
    over = replace(RING, id="over@eth0", title="A ring was full")
    ended = (Ended(over, (step,), 5.0),)
    scene = replace(lossy(), findings=(), plans={}, ended=ended, peer=peer, results=())
    assert provable(scene) == [there.id]
    shown = words(pane("tests").lines(scene, View(pane="tests"), 80, 40))
    assert ("The ring of web2 is full" in shown, "A ring was full" in shown) == (True, False)
