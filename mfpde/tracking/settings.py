"""The settings of tracking: which atoms are followed, and how long one may go unseen."""

from __future__ import annotations

from dataclasses import dataclass

from mfpde.arrays import real_number, whole_number


@dataclass(frozen=True)
class Concentration:
    """Settings for following atoms through a run: ``solve(..., track=Concentration())``.

    Parameters
    ----------
    smallest_mass
        Lighter atoms are not followed, between 0 and 1.  Tails have basins of their own,
        and masses are rarely known below 1e-3.
    longest_gap
        At so many saves running an atom may go unseen (as it does while two widths unite)
        and still be the same; unseen for longer, or at a save whose other atoms leave no room
        for half of its mass, it has died.
    forming
        An atom is born when it is first seen forming: contracting, but not yet narrow;
        else when it reads as an atom.

    Raises
    ------
    ValueError
        If a value is out of its range.
    """

    smallest_mass: float = 1e-3
    longest_gap: int = 5
    forming: bool = True

    def __post_init__(self) -> None:
        real_number("smallest_mass", self.smallest_mass, at_least=0.0, at_most=1.0)
        whole_number("longest_gap", self.longest_gap, at_least=0)
        # Annotations bind no caller.
        given: object = self.forming
        if not isinstance(given, bool):
            raise ValueError(f"forming = {given!r} must be True or False")
