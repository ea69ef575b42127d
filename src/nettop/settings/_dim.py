"""The steps of dynamic interrupt moderation (DIM), in the words that `ethtool -C` takes.

`1,256,n_8,256,n_64,256,n_128,256,n_256,256,n`: five steps of microseconds, packets and completions;
`n` where the driver has no such field (Documentation/networking/net_dim.rst, Linux 6.11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..host.source import Source
from . import Address
from ._ethtool import values

PROFILES = ("rx-profile", "tx-profile")
_PARTS = ("usec", "packets", "completions")
_MOST = (1 << 16) - 1  # struct dim_cq_moder of include/linux/dim.h
_STEP = re.compile(r"(\d{1,9}|n),(\d{1,9}|n),(\d{1,9}|n)")


def steps(source: Source, address: Address) -> Sequence[Mapping[str, int]]:
    """The steps in force; FileNotFoundError with one sentence where there are none."""
    fields = values(source, "coalesce", address.nic).get(address.name.replace("-", "_")) or {}
    if not fields.get("steps"):
        why = (
            f"{address.nic} reports no {address.name}: it needs Linux 6.11 and a driver that has it"
        )
        raise FileNotFoundError(2, why)
    profile: Sequence[Mapping[str, int]] = fields["steps"]
    return profile


def shown(profile: Sequence[Mapping[str, int]]) -> str:
    """The steps as canonical text: `,` joins fields, `_` joins steps, `n` is an absent field."""
    return "_".join(",".join(str(step.get(part, "n")) for part in _PARTS) for step in profile)


def normal(address: Address, value: str) -> str:
    """The text without blanks or leading zeros; ValueError for anything else."""
    words = value.strip().lower().replace("n/a", "n").split("_")
    matches = [_STEP.fullmatch(word.replace(" ", "")) for word in words]
    if not all(matches):
        raise ValueError(
            f"{address} is five steps such as 1,256,n_8,256,n_…: usec,packets,completions"
        )
    return "_".join(
        ",".join(part if part == "n" else str(int(part)) for part in one.groups())
        for one in matches
        if one
    )


def validate(source: Source, address: Address, value: str) -> None:
    """ValueError unless the count of steps and their fields are those of the driver, in 16 bits."""
    now, new = steps(source, address), parsed(value)
    if len(new) != len(now):
        raise ValueError(f"{address} has {len(now)} steps, not {len(new)}")
    for number, (had, has) in enumerate(zip(now, new, strict=True), 1):
        for part in _PARTS:
            if part in had and part not in has:
                raise ValueError(f"step {number} of {address} needs a number of {part}")
            if part in has and part not in had:
                raise ValueError(f"the driver of {address.nic} has no {part} in {address.name}")
            if has.get(part, 0) > _MOST:
                raise ValueError(f"step {number} of {address}: {part} cannot exceed {_MOST}")


def parsed(value: str) -> list[dict[str, int]]:
    """The steps of a canonical text."""
    rows = (word.split(",") for word in value.split("_"))
    return [
        {part: int(one) for part, one in zip(_PARTS, row, strict=True) if one != "n"}
        for row in rows
    ]
