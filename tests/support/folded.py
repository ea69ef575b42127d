"""Many cases of one path, played by one test.

A test that pytest collects costs some milliseconds in each worker, before and beside what it does.
`@folded` is written as `pytest.mark.parametrize` and fails with every case that fails, each with
its name. The cases share the fixtures of the test. `pytest -k` chooses cases by their names too.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from _pytest.mark.expression import Expression

_PARAM = type(pytest.param())
_chosen: list[Expression] = []  # by -k


def only(words: str) -> None:
    """Play only the cases that this expression of `pytest -k` chooses."""
    _chosen[:] = [Expression.compile(words)] if words else []


def _plays(test: str, case: str) -> bool:
    name = f"{test}[{case}]".lower()

    def named(word: str, /, **_: object) -> bool:
        return word.lower() in name

    return all(one.evaluate(named) for one in _chosen)


def folded(
    names: str | tuple[str, ...],
    values: Iterable[Any],
    ids: Callable[[Any], object] | Iterable[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: the test is called once for each of the values."""
    words = names.replace(" ", "").split(",") if isinstance(names, str) else [*names]
    told = None if ids is None or callable(ids) else [*ids]
    cases = []
    for at, value in enumerate(values):
        param = value if isinstance(value, _PARAM) else None
        assert not (param and param.marks), "a case of its own mark is a test of its own"
        given = param.values if param else value if len(words) > 1 else (value,)
        shown = [str(ids(one) if callable(ids) else one)[:60] for one in given]
        name = told[at] if told else param.id if param and param.id else "-".join(shown)
        plain = str(name).encode("ascii", "backslashreplace").decode()  # workers send it as UTF-8
        cases.append((plain, dict(zip(words, given, strict=True))))

    def fold(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in words]

        @functools.wraps(test)
        def every(**fixtures: Any) -> None:
            failed = list[BaseException]()
            # a test that is chosen by another name, as that of its file, plays them all
            played = [one for one in cases if _plays(test.__name__, one[0])] or cases
            for name, given in played:
                try:
                    test(**given, **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"the case: {name}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(played)} cases failed", failed)

        # -k finds a test by the names of its attributes
        vars(every).update({f"[{name}]": True for name, _ in cases})
        vars(every)["__signature__"] = signature.replace(parameters=left)
        return every

    assert cases
    return fold
