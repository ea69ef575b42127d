"""Rules as data: the format of a rule file, its strict parser, citations, and pages of text.

Takes TOML files and gives `Rule` values, or one error with file and key.
"""
