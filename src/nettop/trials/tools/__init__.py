"""Test tools, one per module; see `nettop.trials`."""
