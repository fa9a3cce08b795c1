"""The result of a run: what was saved, what was observed, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.measure import AnyMeasure
from mfpde.stopping import StopReason


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run of the density solver or of particles.

    Attributes
    ----------
    equation
        The equation, or None for a stored run whose terms were the user's own functions.
    times
        Times of the saved states, shape (saves,).
    states
        The saved measures (``Measure`` for a density run, ``Atoms`` for particles).
    diagnostics
        Arrays of first length ``saves`` by name: ``mass``, ``minimum``, ``energy``,
        ``dissipation``, ``largest_density``, ``largest_ball_mass``, ``step``, and what the
        user observes (units and meanings: ``mfpde.diagnostics``).
    stop
        Why the run stopped (``kind`` and ``message``).
    final, final_time
        The last state, saved or not, and its time.
    statistics
        Numbers and names of how it was computed: ``method``, ``steps``, ``rejected``,
        ``evaluations``, ``wall_seconds``, ``last_step``, ``version``, ...
    """

    equation: MeanFieldEquation | None
    times: FloatArray
    states: list[AnyMeasure]
    diagnostics: dict[str, FloatArray]
    stop: StopReason
    final: AnyMeasure
    final_time: float
    statistics: dict[str, float | int | str] = field(default_factory=dict)

    @property
    def energies(self) -> FloatArray:
        """Energy at each save, shape (saves,); NaN where there is none."""
        return self.diagnostics["energy"]

    @property
    def reason(self) -> str:
        """Why the run stopped and what to do next, in words."""
        return self.stop.message

    @property
    def mass_drift(self) -> float:
        """Largest deviation of the total mass from that of the first save."""
        masses = self.diagnostics["mass"]
        return float(np.abs(masses - masses[0]).max()) if len(masses) else 0.0
