r"""Mass on a curve in S^2: narrow across, long along, and of dimension 1 in balls.

Points that are typical of the *mass* of a basin (not of its peak) are looked at one by one:
about the mean of the mass near it, a ball of 4 cells holds a piece of a curve if its principal
rms radii s1 >= s2 (in cells) and its ball masses satisfy

    s2 < 1.6 < s1,   s1 > 1.5 s2,   1/2 < log2 mu(B(4h)) / mu(B(2h)) < 3/2

(a line has s1 = 4/sqrt(3) and exponent 1, an evenly filled disc s1 = s2 = 2 and exponent 2,
an atom s1 < 1.2 and exponent 0).  A region is a curve if that is so for most of its
concentrated mass: where a ball of 2h holds 4 times its uniform share.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.balls import CORE_CELLS
from mfpde.detection.cores import Cloud
from mfpde.detection.region import ATOM_EXPONENT, NARROW_RING, CurveShape

SAMPLES = 48
"""Points that are looked at: the majority of so many is off by a tenth."""
SLENDER = 1.5
CONCENTRATED = 4.0
"""With less of both, bumps that contract on 32 rings are curves, and none on 48."""


def find_curve(part: Cloud, whole: Cloud, spacing: float) -> CurveShape | None:
    """Return the curve that a part of the ``whole`` measure forms, if it forms one."""
    cumulated = np.cumsum(part.masses)
    levels = (np.arange(SAMPLES) + 0.5) / SAMPLES * cumulated[-1]
    typical = np.minimum(np.searchsorted(cumulated, levels), len(cumulated) - 1)
    seen = [_length_per_mass(part.points[k], whole, spacing) for k in typical]
    dense = [length for length in seen if length is not None]
    lengths = [length for length in dense if length > 0]
    if len(lengths) <= len(dense) / 2:
        return None
    length = cumulated[-1] * len(dense) / SAMPLES * np.mean(lengths)
    return CurveShape(float(length), *_fit_circle(part.points, part.masses))


def _length_per_mass(start: FloatArray, whole: Cloud, spacing: float) -> float | None:
    """Length per mass of the curve at ``start``; 0 without one, None where mass is thin."""
    radius = CORE_CELLS * spacing
    near = whole.take(whole.points @ start >= np.cos(2 * radius))
    small = near.core_about(start, radius / 2)
    # The area of a ball of radius r is r^2 / 4 of the sphere's.
    if small.mass < CONCENTRATED * (radius / 2) ** 2 / 4:
        return None
    large = near.core_at(small.centre, radius)
    first, second = large.principal_radii / spacing
    dimension = np.log2(large.mass / small.mass)
    is_slender = second < NARROW_RING < first and first > SLENDER * second
    if not (is_slender and ATOM_EXPONENT < dimension < 1 + ATOM_EXPONENT):
        return 0.0
    # The mean chord of the ball at distances from its middle of rms s2.
    return float(2 * np.sqrt(radius**2 - (second * spacing) ** 2) / large.mass)


def _fit_circle(points: FloatArray, masses: FloatArray) -> tuple[FloatArray, float]:
    """Axis (3,) and polar angle, at most pi/2, of the plane through weighted points."""
    mean = masses @ points / masses.sum()
    away = points - mean
    axis = np.linalg.eigh((masses[:, np.newaxis] * away).T @ away)[1][:, 0]
    axis *= 1.0 if axis @ mean >= 0 else -1.0
    return axis, float(np.arccos(np.clip(axis @ mean, -1.0, 1.0)))
