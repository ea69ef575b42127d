"""The expressions of rules: names, functions, three-valued evaluation, templates, words.

Takes checked text and facts, gives values that may be unknown, and sentences about them.
"""
