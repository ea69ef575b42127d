"""Advice: rules as data (`rule`), read strictly (`load`), judged on facts (`judge`), explained.

The form of a rule file is the docstring of `rule`. Nothing here touches the host.
"""
