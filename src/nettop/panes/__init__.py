"""Panes: one screen a module, pure functions from a scene to lines of (text, role)."""
