"""The limits of a host from frame to frame."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...frame.rates import Frame
from .. import Facts
from . import Limit
from .judge import judge, of_interfaces, paired
from .looks import looks
from .steady import Steady
from .window import Window


@dataclass(slots=True)
class Ladder:
    """Remembers ten seconds, and the verdicts held."""

    window: Window = field(default_factory=Window)
    steady: Steady = field(default_factory=Steady)

    def build(self, frame: Frame, facts: Facts) -> tuple[Limit, ...]:
        """What limits each flow, interface and datagram socket; none before there are rates."""
        self.window.add(frame, facts.nics)
        found = [judge(look) for look in looks(self.window, facts)]
        return self.steady.hold(of_interfaces(paired(found)), frame.at, frame.wall)
