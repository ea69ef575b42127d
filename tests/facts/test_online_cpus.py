"""CPUs by their place: physical cores."""

from nettop.facts.kinds.core import CpuPlace
from nettop.facts.place import OnlineCpus


def placed(*spots: CpuPlace) -> OnlineCpus:
    return OnlineCpus(spots, {spot.cpu: spot for spot in spots})


def test_a_core_is_its_first_cpu() -> None:
    known = placed(
        CpuPlace(0, core=(0, 2)), CpuPlace(1, core=(1, 3)), CpuPlace(2, core=(0, 2)),
        CpuPlace(3, core=(1, 3)),
    )  # fmt: skip
    assert known.firsts([3, 2, 1, 0]) == (0, 1)
    assert known.firsts([3, 2]) == (2, 3)
    assert known.firsts([2, 9]) == (2,)  # 9 is offline
    assert known.cores([0, 1, 2]) == 2


def test_cores_are_unknown_where_one_cpu_has_none() -> None:
    known = placed(CpuPlace(0, core=(0,)), CpuPlace(1))
    assert known.firsts([0, 1]) == ()
    assert known.cores([0, 1]) is None
