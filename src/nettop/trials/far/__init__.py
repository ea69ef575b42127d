"""Helper programs that run at an end of a trial; their source is sent over standard input.

They need only Python 3.6 and its standard library, and write no file. This host runs the same
programs, so both directions are measured alike. Each has `main(options)`; `protocol` sends
their messages, `schema` holds the types of options and messages.
"""
