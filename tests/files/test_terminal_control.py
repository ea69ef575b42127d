"""Control sequences of the terminal: what turns it on must arrive at once."""

import io

from nettop.files import streams


class Terminal(io.StringIO):
    """It shows what was flushed."""

    shown = ""

    def flush(self) -> None:
        """Show it."""
        self.shown = self.getvalue()


def test_a_control_sequence_arrives_before_more_is_written() -> None:
    terminal = Terminal()
    streams.control("\x1b[?1049h", terminal)
    assert terminal.shown == "\x1b[?1049h"
