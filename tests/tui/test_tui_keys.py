"""Keys: what each does on each pane, and that none is bound twice."""

from collections.abc import Iterator
from dataclasses import replace

from folded import folded
from scenes import RING, SCENES, lossy, storied
from tui_app import Recorder

from nettop import panes
from nettop.facts.kinds.nic import Counters, Feature, Nic
from nettop.terms.text import line, text_of
from nettop.tui import keys, palette
from nettop.tui.keys import Ask, press
from nettop.tui.notes import ask_question, note
from nettop.tui.screen import Nettop, Tick
from nettop.views.scene import Question, Scene
from nettop.views.view import View


def on_screen(view: View, scene: Scene) -> View:
    """The view once the scene was painted under it."""
    return panes.page.painted(scene, view, 120, 40)


def typed(text: str, view: View, scene: Scene) -> tuple[View, Ask | None]:
    ask = None
    for char in text:
        view, ask = press({" ": "space"}.get(char, char), char, view, scene)
    return view, ask


def places(scene: Scene) -> Iterator[View]:
    """Every pane at its second and last row, with and without a filter, and in the past."""
    for pane in panes.names():
        items = panes.pane(pane).items(scene, View(pane=pane))
        plain = replace(View(pane=pane), span=1).at(left=1)
        yield plain.at(filter="x")
        for row in (1, len(items) - 1):
            if 0 <= row < len(items):  # a pane may have no rows
                yield replace(plain, span=3).at(on=items[row], index=row)


@folded("name", [name for key in keys.KEYS for name in key.keys])
def test_every_key_of_the_table_does_something(name: str) -> None:
    scene = storied()
    char = name if len(name) == 1 else None
    after = [(view, *press(name, char, view, scene)) for view in places(scene)]
    assert any(new != view or ask is not None for view, new, ask in after)


def test_a_key_of_no_table_does_nothing() -> None:
    scene = storied()
    assert "f12" not in keys.BY_KEY
    for view in places(scene):
        assert press("f12", None, view, scene) == (view, None)


def test_no_key_is_bound_twice() -> None:
    every = [name for key in keys.KEYS for name in key.keys]
    assert len(every) == len(set(every))
    assert {key.group for key in keys.KEYS} == set(keys.GROUPS)


def test_help_is_the_table() -> None:
    told = "\n".join("".join(t for t, _ in row) for row in palette.help_lines(View(), 200, 90))
    paired = {action for pair in palette.PAIRS for action in pair}
    for key in keys.KEYS:
        if key.action not in paired:
            assert keys.shown_as(key) in told
            assert key.help in told
    assert all(f"{text}" in told for _, text in palette.PAIRS.values())


def test_readme_keys_are_the_designs() -> None:
    for name in "12345678ghjklGiPracpusym?q/<>I+-":
        assert name in keys.BY_KEY


def test_the_cursor_moves_and_stays_on_its_finding() -> None:
    scene = lossy()
    view, _ = typed("jj", View(), scene)
    assert view.spot.on == "pause-off@eth0"
    fewer = replace(scene, findings=scene.findings[1:])
    assert keys.target(view, fewer) == "pause-off@eth0"
    view, _ = typed("G", replace(view, pane="advisor"), scene)
    assert view.spot.on == "legacy-sack@host"
    view, _ = typed("g", view, scene)
    assert view.spot.on == "rx-ring-overrun@eth0"


def test_apply_names_the_finding_under_the_cursor() -> None:
    view, ask = typed("ja", View(), lossy())
    assert ask == Ask("apply", "app-on-other-node@3391")
    assert press("y", "y", view, lossy())[1] == Ask(
        "copy", "app-on-other-node@3391", "taskset -apc 4,5,7 3391"
    )
    bare = replace(lossy(), plans={})
    copied = press("y", "y", view, bare)[1]
    command = "nettop explain app-on-other-node@3391"
    assert copied == Ask("copy", "app-on-other-node@3391", command)


def test_what_is_copied_of_a_row_of_the_overview_is_a_command_or_its_name() -> None:
    scene = lossy()
    for row in panes.pane("overview").items(scene, View()):
        ask = press("y", "y", View().at(on=row), scene)[1]
        assert ask is not None
        assert not ask.value.startswith(("flow:", "nic:", "core:", "stage:", "mark:")), row


def test_filter_takes_letters_that_are_keys() -> None:
    view, ask = typed("/quail", View(pane="flows"), lossy())
    assert ask is None
    assert view.typing
    assert view.spot.filter == "quail"
    view, _ = press("backspace", None, view, lossy())
    view, _ = press("enter", "\r", view, lossy())
    assert view.spot.filter == "quai"
    assert not view.typing
    view, _ = press("escape", None, view, lossy())
    assert view.spot.filter == ""


def test_a_filter_closes_the_detail_that_would_hide_its_rows() -> None:
    view, _ = typed("/", View(pane="advisor").at(open=RING.id, on=RING.id), lossy())
    assert view.typing
    assert view.spot.open == ""
    marked = View(pane="tests").at(open="result.7")
    assert typed("/", marked, lossy())[0].spot.open == "result.7"


def test_control_u_empties_a_filter_and_a_field() -> None:
    view, _ = typed("/quail", View(pane="flows"), lossy())
    view, _ = press("ctrl+u", None, view, lossy())
    assert view.typing
    assert view.spot.filter == ""
    field = View(pane="tests", editing="form.seconds", draft="10")
    field, _ = press("ctrl+u", None, field, lossy())
    assert (field.editing, field.draft) == ("form.seconds", "")


def test_in_a_form_only_escape_and_control_keys_are_global() -> None:
    view, _ = typed("jjj", View(pane="tests"), lossy())
    view, _ = press("enter", "\r", view, lossy())
    assert view.editing == "form.peer"
    view, ask = typed("192.0.2.9q", view, lossy())
    assert ask is None
    view, _ = press("enter", "\r", view, lossy())
    assert view.form["peer"] == "192.0.2.9q"
    view, _ = press("enter", "\r", view, lossy())
    view, ask = press("escape", None, view, lossy())
    assert view.editing == ""
    assert ask is None


def test_a_setting_is_set_by_typing() -> None:
    scene = lossy()
    view = on_screen(View(pane="nic", nic="eth0"), scene)
    view, _ = typed("e", view, scene)
    assert view.editing == "ring.rx@eth0"
    view, _ = typed("1024", view, scene)
    view, ask = press("enter", "\r", view, scene)
    assert ask == Ask("set", "ring.rx@eth0", "1024")
    assert (view.editing, view.draft) == ("ring.rx@eth0", "1024")  # until the plan is shown
    assert press("escape", None, view, scene)[0].editing == ""


def test_a_field_begins_with_the_old_value_and_shows_it_beside_the_new_one() -> None:
    scene = lossy()
    view, _ = typed("e", on_screen(View(pane="nic", nic="eth0"), scene), scene)
    old = view.draft
    assert old.isdecimal()
    assert view.untouched
    view, _ = typed("9", view, scene)
    assert view.draft == "9"
    foot = text_of(panes.page.footer(scene, view, 100))
    assert f"ring.rx@eth0 = 9▏  now {old}" in foot


async def test_a_wrong_value_keeps_the_field_and_a_plan_ends_it() -> None:
    app = Nettop(on_screen(View(pane="nic", nic="eth0"), lossy()), lossy())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("e", "a", "b", "c", "enter")
        app.post_message(Tick(note("'abc' is not a whole number", "bad")))
        await pilot.pause()
        assert (app.view.editing, app.view.draft) == ("ring.rx@eth0", "abc")
        assert "is not a whole number" in "\n".join(text_of(row) for row in app.board.shown)
        await pilot.press("ctrl+u", "1", "0", "2", "4", "enter")
        question = Question("Set ring.rx@eth0", (("", (line("1024"),)),), "change")
        app.post_message(Tick(ask_question(question)))
        await pilot.pause()
        assert (app.view.editing, app.view.draft) == ("", "")


def test_what_cannot_be_set_is_refused_before_a_value_is_asked_for() -> None:
    scene = lossy()
    facts = scene.facts
    assert facts is not None
    bare = tuple(replace(queue, irq=None) for queue in facts.queues)
    nic = replace(facts.nics[0], features=(Feature("highdma", on=True, wanted=True, fixed=True),))
    scene = replace(scene, facts=replace(facts, queues=bare, nics=(nic, *facts.nics[1:])))
    queue = panes.pane("cores").items(scene, View(pane="cores"))[0]
    for name, shown, row, why in (
        ("cores", "", queue, f"{queue} has no interrupt of its own: nothing can be moved"),
        ("nic", nic.name, f"feature.highdma@{nic.name}", "offers no other value"),
    ):
        view = on_screen(View(pane=name, nic=shown).at(on=row), scene)
        assert view.spot.on == row
        view, ask = typed("e", view, scene)
        assert view.editing == ""
        assert ask is not None
        assert (ask.verb, ask.target) == ("set", "")
        assert why in ask.value


def test_of_hundreds_of_interfaces_i_passes_those_at_rest() -> None:
    scene = lossy()
    facts = scene.facts
    assert facts is not None
    idle = Counters(rx_bytes=0.0, tx_bytes=0.0)
    busy = Counters(rx_bytes=1e8, tx_bytes=0.0)
    veths = tuple(
        Nic(f"veth{number}", kind="veth", per_s=busy if number == 299 else idle, total=idle)
        for number in range(300)
    )
    real = Nic("eth7", kind="nic", per_s=idle, total=idle)
    scene = replace(scene, facts=replace(facts, nics=(real, *veths)))
    view, seen = View(nic="veth5"), []
    for _ in range(4):
        view, _ = press("i", "i", view, scene)
        seen.append(view.nic)
    assert seen == ["veth299", "", "eth7", "veth299"]


async def test_a_question_is_answered_by_enter_or_escape() -> None:
    sheets = (("shell", (((" one", ""),),)), ("sysctl", (((" two", ""),),)))
    question = Question("Export", sheets, "export", "write the file here")
    app = Nettop(View(pane="journal"), replace(storied(), question=question))
    recorder = Recorder()
    app.actions = recorder
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shown = "\n".join("".join(t for t, _ in row) for row in app.board.shown)
        assert "write the file here" in shown
        assert " one" in shown
        await pilot.press("u", "right")
        assert recorder.requests == []
        await pilot.press("enter")
        assert recorder.requests == [Ask("agree", value="sysctl")]
        assert app.scene.question is None
        app.scene = replace(app.scene, question=question)
        await pilot.press("escape")
        assert app.scene.question is None
        assert len(recorder.requests) == 1


def test_an_interrupt_is_moved_by_typing() -> None:
    view, _ = typed("e4", on_screen(View(pane="cores"), lossy()), lossy())
    _, ask = press("enter", "\r", view, lossy())
    assert ask == Ask("set", "irq.affinity@eth0/rx-0", "4")


def test_the_ruler_takes_two_marks_and_a_third_clears() -> None:
    scene = storied()
    view = View(pane="history")
    for _ in range(3):
        view, _ = press("left", None, view, scene)
    view, _ = press("enter", "\r", view, scene)
    view, _ = press("left", None, view, scene)
    view, _ = press("enter", "\r", view, scene)
    assert len(view.marks) == 2
    assert view.marks[0] > view.marks[1]
    view, _ = press("enter", "\r", view, scene)
    assert view.marks == ()


@folded("pane", panes.names())
def test_any_key_on_any_pane_of_any_host_is_harmless(pane: str) -> None:
    for build in SCENES.values():
        scene = build()
        for key in keys.KEYS:
            for name in key.keys:
                view, _ = press(name, name if len(name) == 1 else None, View(pane=pane), scene)
                assert panes.pane(view.pane).lines(scene, view, 80, 22) is not None
        press("enter", "\r", View(pane=pane), Scene())
