"""Test tools, one per module; `nettop.trials` says what a module has."""
