"""Judging: rules and facts in, findings and reasons for silence out.

`judge` keeps what a condition needs of earlier frames (`hold`, `worst`); `rule_tests` runs the
tests that each rule carries.
"""
