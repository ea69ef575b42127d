"""Facts written compactly, for a rule's own tests; fields that are absent have their default.

nic = { ring = { rx = 256, rx_max = 4096 }, features = { rx-gro = false, rx-lro = "fixed off" } }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, cast

from ...facts import PROFILES, Facts, Profile
from ...facts.kinds import kinds
from ...facts.kinds.host import HostFact
from ...facts.kinds.nic import Feature
from ...facts.kinds.path import PathStage
from ...terms.errors import nearest
from ..language.vocabulary import ANY, NUMBER, SWITCH, TEXT, TUPLE, Word, words
from ..rules.written import Table

PLURALS: Final = {name: kind.plural for name, kind in kinds().items() if name != "host"}
FACT_KEYS: Final = ("host", *PLURALS, *PLURALS.values(), "sysctls", "missing")
_STAGE: Final = {"name": "ring"}
_FITS: Final = {NUMBER: (int, float), TEXT: (str,), SWITCH: (bool,), TUPLE: (tuple,)}
_FORMS: Final = {"nic.features": dict, "nic.private_flags": dict, "path.stages": list}


class InlineError(ValueError):
    """One sentence: what is wrong with facts written inline."""


class NoRecordingError(InlineError):
    """The recorded host that a test names is not installed."""


def facts(table: Table, profile: str, at: float = 0.0) -> Facts:
    """The facts of a table with the keys of FACT_KEYS, at time `at` (s); other keys are ignored."""
    if profile not in PROFILES:
        raise InlineError(f"profile {profile!r} is none of {', '.join(PROFILES)}")
    facts: dict[str, tuple[Any, ...]] = {}  # by plural
    for kind, plural in PLURALS.items():
        tables = [table[kind]] if kind in table else []
        tables += table.get(plural, [])
        facts[plural] = tuple(_fact(kind, one) for one in tables)
    known = {nic.name for nic in facts["nics"]}
    parents = [
        one.nic
        for kind, plural in PLURALS.items()
        for one in facts[plural]
        if "nic" in kinds()[kind].parents and one.nic
    ]
    extra = dict.fromkeys(name for name in parents if name not in known)
    facts["nics"] += tuple(
        _fact("nic", {"name": name, "kind": "loopback" if name == "lo" else "nic"})
        for name in extra
    )
    return Facts(
        host=cast("HostFact", _fact("host", table.get("host", {}))),
        profile=Profile(profile, "the test says so", chosen=True),
        at=at,
        sysctls={name: _words(value) for name, value in table.get("sysctls", {}).items()},
        missing=dict(table.get("missing", {})),
        more={name: facts[PLURALS[name]] for name, kind in kinds().items() if kind.build},
        **cast("Any", {PLURALS[n]: facts[PLURALS[n]] for n in PLURALS if not kinds()[n].build}),
    )


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _fact(kind: str, table: object) -> object:
    return _built(kind, kinds()[kind].type, table, kinds()[kind].example)


def _built(where: str, kind: type, table: object, names: Mapping[str, object]) -> object:
    if not isinstance(table, Mapping):
        raise InlineError(f"{where}: must be a table, not {table!r}")
    known = words(kind)
    for key in table:
        if key not in known:
            raise InlineError(f"{where}.{key}: no such field{nearest(key, known)}")
    out: dict[str, object] = {}
    for f in fields(kind):
        if f.name in table:
            out[f.name] = _value(f"{where}.{f.name}", known[f.name], table[f.name])
        elif f.default is MISSING and f.default_factory is MISSING:
            if f.name not in names:
                raise InlineError(f"{where}.{f.name}: is required")
            out[f.name] = names[f.name]
        elif f.name in names:
            out[f.name] = names[f.name]
    if kind is kinds()["queue"].type:
        out.update(_queue(out, table))
    return kind(**out)


def _queue(out: Mapping[str, object], table: Mapping[str, object]) -> dict[str, object]:
    """A queue's direction and number, derived from its name where absent."""
    direction, _, number = str(out["name"]).partition("-")
    return {
        "direction": table.get("direction", direction),
        "number": table.get("number", int(number) if number.isdigit() else 0),
    }


def _value(where: str, word: Word, value: object) -> object:
    if word.kind is not None:
        return _built(where, word.kind, value, {"interface": "", "nic": ""})
    form = _FORMS.get(where)
    if form is not None and not isinstance(value, form):
        word_of = "table" if form is dict else "list of tables"
        raise InlineError(f"{where}: a {word_of} is required, not {value!r}")
    if where == "nic.features" and isinstance(value, dict):
        return tuple(_feature(name, state) for name, state in value.items())
    if where == "nic.private_flags" and isinstance(value, dict):
        return tuple(value.items())
    if where == "path.stages" and isinstance(value, list):
        return tuple(_built("stage", PathStage, stage, _STAGE) for stage in value)
    value = _frozen(value)
    fits = _FITS.get(word.type)
    wrong = fits is not None and not isinstance(value, fits)
    if word.type != ANY and (wrong or (word.type == NUMBER and isinstance(value, bool))):
        raise InlineError(f"{where}: a {word.type} is required, not {value!r}")
    return value


def _feature(name: str, state: object) -> Feature:
    """`false`, `true`, or text such as "fixed off", "on"."""
    text = ("on" if state else "off") if isinstance(state, bool) else str(state)
    if text.split()[-1:] not in (["on"], ["off"]):
        raise InlineError(f"nic.features.{name}: on, off, fixed on or fixed off")
    on = text.endswith("on")
    return Feature(name, on, on, text.startswith("fixed"))


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value
