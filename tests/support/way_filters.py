"""A host with one base chain of rules, for walks."""

from typing import Any

from way_tables import frame, switches

from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule

DROP, ACCEPT = ("immediate", 0, "0:"), ("immediate", 0, "1:")
PORT80 = (("payload", 1, 2, 2, 2), ("cmp", 1, 0, "0050"))


def ruled(
    *does: tuple[Any, ...], hook: str = "output", drops: bool = False, more: Any = (),
    **tables: Any,
) -> Any:  # fmt: skip
    """A frame with one base chain `c` of these rules, each a tuple of expressions."""
    rules = [Rule("inet", "t", "c", number, one) for number, one in enumerate(does, 2)]
    on = [switches("all", 1), switches("a0", 1), switches("b0", 1)]
    hooks = [Hook("inet", "t", "c", hook, 0, "filter", drops)]
    read = {"nft_hooks": hooks, "nft_rules": [*rules, *more], "interface_sysctls": on, **tables}
    return frame(**read)
