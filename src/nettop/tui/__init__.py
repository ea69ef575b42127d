"""The screen: the only folder that imports Textual.

Takes scenes and keys, gives painted rows and requests to change or test something. What a pane
shows is decided in `panes`; here it is painted and keys find their action. A newcomer adds a key in
`keys`, a theme in `themes`.
"""
