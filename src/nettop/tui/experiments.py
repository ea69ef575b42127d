"""Questions before experiments: what a proof, a sweep or a tuning would set and test."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from .. import settings
from ..files import own
from ..terms.text import Line, line
from ..terms.units import many
from ..views.ask import Ask
from ..views.form import values
from ..views.scene import Question, Scene
from ..views.view import View
from .notes import ask_question, note
from .planning import Planning, changeable, risk_text, triples
from .trying import BUILT_IN, options_of


class Experiments:
    """Makes questions of requests to test; changes are shown as `planning` shows them."""

    def __init__(self, planning: Planning) -> None:
        """Questions and notes are posted as those of `planning`."""
        self.planning = planning

    def do_prove(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show what a proof would write, with the address and peer of the form."""
        from ..changes.plan import plan
        from ..trials import prove
        from ..trials.lever import facing

        finding = changeable(ask.target, view, scene, self.planning.post, "prove")
        if finding is None:
            return
        form = values(view)
        if os.geteuid() != 0:
            argv = ["prove", finding.id, "--to", form["to"] or "ADDRESS"]
            argv += ["--peer", form["peer"]] if form["peer"] else []
            self._as_root(argv)
            return
        if not form["to"]:
            self.planning.post(note("a proof needs the address of the peer", "warn"))
            return
        wanted = tuple((w.setting, w.value) for w in finding.wanted)
        changes = plan(wanted, self.planning.source)
        if not changes:
            self.planning.post(note("already set: nothing to compare", "warn"))
            return
        peer = f" ({form['peer']})" if form["peer"] else ""
        tested = facing(prove.fitting(finding.id), options_of(form), dict(wanted))
        sends = ", which sends," if tested.reverse else ""
        body = (
            *self.planning.lines(changes),
            line(f" Set and reverted in turn, with tests to {form['to']}{peer}{sends} in between."),
            *lasting(form, 2),
            line((" Kept only if significantly better; Ctrl-X stops and reverts.", "dim")),
        )
        question = Question(
            f"Prove: {finding.title}", (("", body),), "prove", "start (Ctrl-X stops)",
            triples(changes), finding.id, self.planning.warnings(changes), wanted=wanted,
            identities=self.planning.identities(changes),
        )  # fmt: skip
        self.planning.post(ask_question(question))

    def do_sweep(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show which values of a setting would be set and tested in turn."""
        form = values(view)
        texts = shlex.split(form["values"])  # quotes keep the numbers of one value together
        if not form["setting"] or not texts:
            self.planning.post(note("a sweep needs a setting and the values to test", "warn"))
            return
        address = settings.parse(form["setting"])
        now = settings.read(self.planning.source, address)
        tested = [settings.check(self.planning.source, address, text) for text in texts]
        tested = [value for value in dict.fromkeys(tested) if value != now]
        if not tested:
            self.planning.post(
                note(f"nothing to test: {form['setting']} already has that value", "warn")
            )
            return
        argv = ["sweep", form["setting"]]
        argv += [word for value in tested for word in ("--value", value)]
        if self.refused_test(form, argv):
            return
        risk = risk_text(settings.risk(address))
        body = (
            line(f" {form['setting']}: ", (now, "dim"), " → ", (", ".join(tested), "strong")),
            risk,
            *(line(("   # ", "dim"), (settings.shell(address, one, self.planning.source), "key"))
              for one in tested),
            *runs(form, "Each value is"),
            *lasting(form, 1 + len(tested), sweeps=True),
            line((" The current value is set again at the end; Ctrl-X stops and reverts.", "dim")),
        )  # fmt: skip
        wanted = tuple((form["setting"], value) for value in tested)
        title = f"Sweep {form['setting']}"
        self.planning.post(
            ask_question(
                Question(title, (("", body),), "sweep", "start (Ctrl-X stops)", wanted=wanted)
            )
        )

    def do_tune(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show which findings would be proved in turn, with their changes."""
        from ..changes.plan import plan

        form = values(view)
        tested = [one for one in scene.findings if one.wanted and not one.safety]
        changes = plan(
            [(w.setting, w.value) for one in tested for w in one.wanted], self.planning.source
        )
        if not changes:
            self.planning.post(
                note("nothing to tune: no finding here has a setting to test", "warn")
            )
            return
        if self.refused_test(form, ["tune"]):
            return
        known = many(len(tested), "findings")
        body = (
            *self.planning.lines(changes),
            *runs(form, f"Each of {known} is" if len(tested) > 1 else "Its fix is"),
            line(f" At most {form['budget']} min. A change stays only if it is better."),
            line((" Ctrl-X stops; what is not kept is reverted.", "dim")),
        )
        question = Question(
            f"Tune: prove {known}", (("", body),), "tune", "start (Ctrl-X stops)",
            triples(changes), "", self.planning.warnings(changes),
            entries=tuple(one.id for one in tested),
            identities=self.planning.identities(changes),
        )  # fmt: skip
        self.planning.post(ask_question(question))

    def refused_test(self, form: Mapping[str, str], argv: list[str]) -> bool:
        """Post why a test that changes settings cannot start: no address, or not root."""
        if os.geteuid() != 0:
            argv += ["--to", form["to"] or "ADDRESS"]
            argv += ["--peer", form["peer"]] if form["peer"] else []
            self._as_root(argv)
            return True
        if not form["to"]:
            self.planning.post(note("enter the address of the peer first", "warn"))
            return True
        return False

    def _as_root(self, argv: list[str]) -> None:
        """Post the command to type, without which nothing is tested."""
        command = f"{own.called_as_root()} {shlex.join(argv)}"
        self.planning.post(note(f"not root; type: {command}", "warn"))


def lasting(form: Mapping[str, str], states: int, *, sweeps: bool = False) -> list[Line]:
    """How long an experiment takes, and what it can find; nothing if the form is wrong."""
    from ..trials import prove, statistics

    try:
        plan = prove.bench(BUILT_IN, options_of(form)).plan
    except ValueError:
        return []
    most = states * plan.most * plan.run_seconds
    time = statistics.lasting(plan.minimum(states, 0.0, sweeps=sweeps), most)
    return [
        line(
            (f" {time}. {statistics.pairs_sentence(plan.fewest(sweeps=sweeps), plan.most)}.", "dim")
        )
    ]


def runs(form: Mapping[str, str], subject: str) -> list[Line]:
    """The sentence about the test runs of an experiment."""
    peer = f" ({form['peer']})" if form["peer"] else ""
    return [line(f" {subject} compared with the current state, by tests to {form['to']}{peer}.")]
