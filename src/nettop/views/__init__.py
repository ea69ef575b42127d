"""Views: everything that a pane draws, as values, without Textual.

This folder takes observations, the journal and stored results, and gives a `Scene`. The screen and
`nettop show` use the same scenes.
"""
