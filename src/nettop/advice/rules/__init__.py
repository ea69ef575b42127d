"""Rules as data: the form of a rule file, reading it strictly, citations, its page.

Takes TOML files, gives `Rule` values, or one error that names file and key.
"""
