"""The command palette in the order of `palette.commands`: what can be done now comes first.

Textual's own provider lists the entries of an empty search by their titles.
"""

from __future__ import annotations

from textual.command import DiscoveryHit, Hits
from textual.system_commands import SystemCommandsProvider


class Entries(SystemCommandsProvider):
    """As Textual's, but an empty search keeps the order of the application."""

    async def discover(self) -> Hits:
        """The entries in their order."""
        for title, hint, command, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(title, command, help=hint)
