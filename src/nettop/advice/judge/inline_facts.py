"""Facts written in a few words, for a rule's own tests: what is not said has its default.

nic = { ring = { rx = 256, rx_max = 4096 }, features = { rx-gro = false, rx-lro = "fixed off" } }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from ...facts import PROFILES, Facts, Profile
from ...facts.kinds import kinds
from ...facts.kinds.nic import Feature
from ...terms.errors import nearest
from ..language.vocabulary import ANY, FACT, NUMBER, SWITCH, TEXT, TUPLE, Word, words

PLURALS: Final = {name: kind.plural for name, kind in kinds().items() if name != "host"}
FACT_KEYS: Final = ("host", *PLURALS, *PLURALS.values(), "sysctls", "missing")
_STAGE: Final = {"name": "ring"}
_FITS: Final = {NUMBER: (int, float), TEXT: (str,), SWITCH: (bool,), TUPLE: (tuple,)}


class InlineError(ValueError):
    """What is wrong with facts written inline."""


class NoRecordingError(InlineError):
    """The recorded host that a test names is not here, as in an installed nettop."""


def facts(table: Mapping[str, Any], profile: str, at: float = 0.0) -> Facts:
    """The facts of a table with the keys of FACT_KEYS; others are left alone."""
    if profile not in PROFILES:
        raise InlineError(f"profile {profile!r} is none of {', '.join(PROFILES)}")
    made: dict[str, tuple[Any, ...]] = {}
    for kind, plural in PLURALS.items():
        given = [table[kind]] if kind in table else []
        given += table.get(plural, [])
        made[plural] = tuple(_fact(kind, one) for one in given)
    known = {nic.name for nic in made["nics"]}
    wanted = [
        one.nic
        for kind, plural in PLURALS.items()
        for one in made[plural]
        if "nic" in kinds()[kind].parents and one.nic
    ]
    extra = dict.fromkeys(name for name in wanted if name not in known)
    made["nics"] += tuple(
        _fact("nic", {"name": name, "kind": "loopback" if name == "lo" else "nic"})
        for name in extra
    )
    return Facts(
        host=_fact("host", table.get("host", {})),
        profile=Profile(profile, "the test says so", chosen=True),
        at=at,
        sysctls={name: _words(value) for name, value in table.get("sysctls", {}).items()},
        missing=dict(table.get("missing", {})),
        more={name: made[PLURALS[name]] for name, kind in kinds().items() if kind.build},
        **{PLURALS[n]: made[PLURALS[n]] for n in PLURALS if kinds()[n].build is None},
    )


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _fact(kind: str, given: Any) -> Any:
    return _make(kind, kinds()[kind].type, given, kinds()[kind].example)


def _make(where: str, kind: type, given: Any, names: Mapping[str, Any]) -> Any:
    if not isinstance(given, Mapping):
        raise InlineError(f"{where}: a table is wanted, not {given!r}")
    known = words(kind)
    for key in given:
        if key not in known:
            raise InlineError(f"{where}.{key}: no such field{nearest(key, known)}")
    out: dict[str, Any] = {}
    for f in fields(kind):
        if f.name in given:
            out[f.name] = _value(f"{where}.{f.name}", known[f.name], given[f.name])
        elif f.default is MISSING and f.default_factory is MISSING:
            if f.name not in names:
                raise InlineError(f"{where}.{f.name}: must be said")
            out[f.name] = names[f.name]
        elif f.name in names:
            out[f.name] = names[f.name]
    if kind is kinds()["queue"].type:
        out.update(_queue(out, given))
    return kind(**out)


def _queue(out: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A queue's direction and number follow from its name."""
    direction, _, number = str(out["name"]).partition("-")
    return {
        "direction": given.get("direction", direction),
        "number": given.get("number", int(number) if number.isdigit() else 0),
    }


def _value(where: str, word: Word, value: Any) -> Any:
    if word.type == FACT:
        return _make(where, word.kind, value, {})
    if where == "nic.features":
        return tuple(_feature(name, state) for name, state in value.items())
    if where == "nic.private_flags":
        return tuple(value.items())
    if where == "path.stages":
        from ...facts.kinds.path import Stage

        return tuple(_make("stage", Stage, stage, _STAGE) for stage in value)
    value = _frozen(value)
    fits = _FITS.get(word.type)
    wrong = fits is not None and not isinstance(value, fits)
    if word.type != ANY and (wrong or (word.type == NUMBER and isinstance(value, bool))):
        raise InlineError(f"{where}: a {word.type} is wanted, not {value!r}")
    return value


def _feature(name: str, state: Any) -> Feature:
    """`false`, `true`, or text such as "fixed off", "on"."""
    text = ("on" if state else "off") if isinstance(state, bool) else str(state)
    if text.split()[-1:] not in (["on"], ["off"]):
        raise InlineError(f"nic.features.{name}: on, off, fixed on or fixed off")
    on = text.endswith("on")
    return Feature(name, on, on, text.startswith("fixed"))


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value
