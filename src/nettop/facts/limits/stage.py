"""A stage: a place on the way of data that can be full, and all that nettop says of it.

The modules of `stages` declare theirs; names, order, words, bars, advice, the line of both ends,
the manual page, the schema and the metrics are derived from the declarations.
"""

from __future__ import annotations

from ...terms.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage. `sending` and `receiving` are its places on the two ways, 0: it is not on it.

    A sender's way leads from the program to the peer, a receiver's from the peer to the program.
    """

    name: str  # in --json, rules and metrics
    words: str  # in sentences, with its article
    meaning: str  # in nettop(7)
    bar: str  # heading of its bar; stages of one heading share a bar
    advice: str  # what to do about it where no finding says more; in few words
    precedence: int  # of several stages that bind, the one with the lowest is the limit
    sending: int = 0
    receiving: int = 0
    always: tuple[str, ...] = ()  # directions in which its bar is always shown
    setting: str = ""  # of the interface, that decides about it; the pane of the NIC shows it
    most: str = ""  # the sysctl whose last number its size ends at; a reading of that size names it
    cores: bool = False  # the pane of cores shows it, else that of flows
    card: bool = False  # only a network card has it
    queue: bool = False  # packets wait in it: while it is full, windows and buffers fill as well
    cpu: bool = False  # a CPU does its work
    fed: bool = False  # it fills, or loses segments, because a queue behind it is full
    grows: bool = False  # a window that grows once nothing else limits
    fault: bool = True  # something can be done about it at its end
    beyond: bool = False  # the other end knows more about it
    between: bool = False  # of the network between both hosts, where it is not at this end
    arrives: bool = False  # a receiving host loses packets there before the socket
    lost_rx: tuple[str, ...] = ()  # counters of the interface: packets that it loses
    lost_tx: tuple[str, ...] = ()
    lost_here: tuple[str, ...] = ()  # counters of the whole host: received packets that it loses
    why: str = ""  # what the loss of a packet there means
    implies: str = ""  # the stage that is limited with it: either name is right
    feeds: bool = False  # it stands for the application: what that waits for
    sure: bool = False  # who waits for it does not wait for the network
    short: str = ""  # in a table, where `words` have no room and its name is no word of the field

    def place(self, direction: str) -> int:
        """Its place on the way of data in that direction, tx or rx."""
        return self.sending if direction == "tx" else self.receiving

    def losses(self, direction: str) -> tuple[str, ...]:
        """The counters of the interface for what it loses in that direction."""
        return self.lost_tx if direction == "tx" else self.lost_rx
