"""The screen: the only folder that imports Textual.

This folder takes scenes and keys, and gives painted rows and requests to change or test something.
`panes` decides what a pane shows; this folder paints it and maps keys to actions. A key is added in
`keys` (a pane's own key in the pane), a theme in `themes`.
"""
