"""The command palette: what can be done with the row under the cursor comes first."""

from __future__ import annotations

from scenes import lossy
from textual.widgets import OptionList

from nettop.tui import palette
from nettop.tui.screen import Nettop
from nettop.views.view import View


async def test_an_empty_search_lists_what_can_be_done_now_first() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        wanted = [title for title, _, _ in palette.commands(app.view, app.target_scene())]
        await pilot.press("ctrl+p")
        rows = app.screen.query_one(OptionList)
        while rows.option_count < len(wanted):
            await pilot.pause(0.05)
        shown = [str(rows.get_option_at_index(at).prompt) for at in range(len(wanted))]
        assert [one.partition("\n")[0] for one in shown] == wanted
        assert wanted != sorted(wanted)
