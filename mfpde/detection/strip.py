r"""The strip of analyticity on the circle, from the decay of the Fourier moments.

A density that is analytic in the strip |Im theta| < delta has |mu_k| ~ exp(-delta k); an
atom forms as delta -> 0 (Sulem, Sulem & Frisch, 1983, for the method).  The fit is without
a power of k: with one it wanders.  It says something only for 1.3 <= delta / h <= 5 and a
smooth external potential: for narrower strips the grid decides, for wider ones the
limiter's noise hides the tail, and a kink of V ends the analyticity at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure

NARROWEST, WIDEST = 1.3, 5.0
"""Widths between which the fit is valid, in cells."""
_LARGEST, _SMALLEST = 0.6, 0.03
_CELLS_PER_WAVE = 8
"""Shorter waves are the transport's: at delta = 2 h it has already changed them."""
_LEAST_MOMENTS = 6
_LARGEST_RESIDUAL = 0.15


@dataclass(frozen=True)
class StripWidth:
    """Width delta of the strip in radians and in cells; None, with a ``note``, if not known."""

    width: float | None
    in_cells: float | None
    note: str

    def __str__(self) -> str:
        if self.width is None:
            return f"none ({self.note})"
        return f"{self.width:.4g} = {self.in_cells:.2f} h"


def strip_width(measure: AnyMeasure, equation: MeanFieldEquation) -> StripWidth:
    """Fit |mu_k| ~ exp(-delta k), where that is valid.

    Parameters
    ----------
    measure
        Any measure; only a density on a Circle without atoms has a strip.
    equation
        Its external terms must be smooth.

    Returns
    -------
    StripWidth
        With a note instead of a number where the fit would say nothing.
    """
    reason = _objection(measure, equation)
    if reason:
        return StripWidth(None, None, reason)
    density = as_measure(measure).density
    geometry = density.geometry
    moments = np.abs(geometry.moments(density.masses, geometry.max_degree))
    fitted = _fit(moments / moments[0])
    if fitted is None:
        return StripWidth(None, None, "the moments do not decay exponentially")
    cells = fitted / geometry.spacing
    if not NARROWEST <= cells <= WIDEST:
        side = "below" if cells < NARROWEST else "above"
        bound = NARROWEST if cells < NARROWEST else WIDEST
        return StripWidth(None, None, f"{side} {bound:g} h, where the fit is not valid")
    return StripWidth(fitted, cells, "fit of |mu_k| ~ exp(-delta k)")


def _objection(measure: AnyMeasure, equation: MeanFieldEquation) -> str:
    if isinstance(measure, Atoms) or len(as_measure(measure).atoms):
        return "atoms have no strip"
    if measure.dimension != 2:
        return "on the circle only"
    for layer in equation.perceptrons:
        if layer.activation.kinks:
            return f"{layer.activation.name} has a kink"
    return ""


def _fit(shares: FloatArray) -> float | None:
    """Slope of -log |mu_k| over the first decay from 0.6 to 0.03; None if it is no line."""
    below = np.nonzero(shares < _SMALLEST)[0]
    longest = 2 * len(shares) // _CELLS_PER_WAVE
    last = min(int(below[0]), longest) if len(below) else longest
    waves = np.arange(1, last)
    waves = waves[shares[1:last] < _LARGEST]
    if len(waves) < _LEAST_MOMENTS:
        return None
    logarithms = np.log(shares[waves])
    slope, height = np.polyfit(waves, logarithms, 1)
    residual = np.std(logarithms - slope * waves - height)
    if slope >= 0 or residual > _LARGEST_RESIDUAL:
        return None
    return float(-slope)
