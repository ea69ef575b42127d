"""A long chain of packet filter rules, from the collector `nft_chains`."""

from __future__ import annotations

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class Chain:
    """One of them."""

    id: str = label("family, table and chain, e.g. inet/filter/input")
    hook: str = gauge("hook of the chain; empty: another chain jumps to it", default="")
    rules: int = gauge("rules of the chain", "rules", default=0)


def build(frame: Frame, facts: object) -> tuple[Chain, ...]:  # noqa: ARG001
    """One fact for each row."""
    return tuple(
        Chain(f"{row.family}/{row.table}/{row.chain}", row.hook, row.rules)
        for row in frame.rows("nft_chains")
    )


KIND = Kind(
    Chain, "chains", needs=("nft_chains",), build=build,
    example={"id": "inet/filter/input", "hook": "input"},
)  # fmt: skip
