"""Stores of runs on disk: written as a run goes, read back whole, checked by their sums."""
