"""Errors of stores, each of one line."""

from __future__ import annotations


class StoreError(ValueError):
    """The store at a path is not that of a run, holds no record yet, or is damaged."""

    def __str__(self) -> str:
        """Return the message in one line, whatever is quoted in it."""
        return " ".join(super().__str__().split())
