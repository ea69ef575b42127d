"""One test tool a module; see `nettop.trials`."""
