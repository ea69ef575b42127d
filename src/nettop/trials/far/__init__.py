"""Programs that run at an end of a trial, read as text and sent over standard input.

They need nothing but Python 3.6 and its standard library there, and leave nothing behind. The near
end runs the same texts, so both directions measure alike. Each has `main(options)`; `link` is how
they talk.
"""
