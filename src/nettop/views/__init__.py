"""Views: everything a pane draws, as values, without Textual.

Takes observations, the journal and stored results, gives a `Scene`. The screen and `nettop show`
use the same scenes.
"""
