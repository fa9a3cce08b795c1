"""Runs: what solver and particles share, when to save and to stop, and what is returned."""
