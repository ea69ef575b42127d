"""Advice: from facts to findings, by rules that are data.

`language` reads and evaluates the expressions of rules; `rules` reads rule files and checks them;
`judge` applies rules to facts and explains what they found. Takes facts and rule files, gives
findings and the reasons of silent rules. Nothing here touches the host. A newcomer adds a function
for rules in `language.functions`; a new rule is a file in `rules/` of the repository.
"""
