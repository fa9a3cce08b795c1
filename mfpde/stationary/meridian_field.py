r"""The first variation F of rings of equal atoms, along one meridian.

A ring of n equal atoms at the angle s gives at the angle t the azimuthal mean plus waves of
order n, 2n, ..., in all at most (2 A m / beta) sum_{k >= 1} I_kn(z) e^{-z}, z <= beta sin s.  So
F is bounded below over the sphere by its minimum along a meridian, minus twice that sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ive

from mfpde.arrays import FloatArray
from mfpde.stationary.bounded_fields import AtomicField
from mfpde.stationary.tangent_frames import tangent_frames
from mfpde.stationary.taylor_bounds import Expansion

WAVES = 3


@dataclass(frozen=True, eq=False)
class MeridianField:
    """The ``field`` on a great circle through ``axis`` (3,); ``ripple`` is twice the sum above."""

    field: AtomicField
    axis: FloatArray
    ripple: float

    @property
    def dimension(self) -> int:
        """Dimension 2 of the plane that the meridian lies in."""
        return 2

    @property
    def masses(self) -> FloatArray:
        """Masses of the atoms."""
        return self.field.masses

    @property
    def curvature(self) -> float:
        """Constant L of the whole field on the sphere, which bounds its second derivatives."""
        return self.field.curvature

    @property
    def bend(self) -> float:
        """Constant T of the whole field on the sphere, which bounds its third derivatives."""
        return self.field.bend

    @property
    def width(self) -> float:
        """Length over which the whole field on the sphere varies."""
        return self.field.width

    @property
    def rounding(self) -> float:
        """Rounding of the field, plus the ripple by which F may be lower off the meridian."""
        return self.field.rounding + self.ripple

    @cached_property
    def _frame(self) -> FloatArray:
        across = tangent_frames(self.axis[np.newaxis])[0, 0]
        return np.stack([self.axis, across])

    def _on_sphere(self, points: FloatArray) -> FloatArray:
        there = points @ self._frame
        return np.asarray(there / np.linalg.norm(there, axis=1, keepdims=True))

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) of F at ``points`` (n, 2) of the meridian."""
        return self.field.values(self._on_sphere(points))

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Expand at ``points`` (n, 2) of the meridian."""
        there = self._on_sphere(points)
        found = self.field.expansion(there, radii)
        assert found.hessian is not None
        along = tangent_frames(points)[:, 0] @ self._frame
        parts = np.einsum("nai,ni->na", tangent_frames(there), along)
        slope = np.einsum("na,na->n", parts, found.gradient)
        bend = np.einsum("na,nab,nb->n", parts, found.hessian, parts)
        return Expansion(
            found.values,
            slope[:, np.newaxis],
            bend[:, np.newaxis, np.newaxis],
            *self._along(found, parts),
        )

    @staticmethod
    def _along(
        found: Expansion, parts: FloatArray
    ) -> tuple[FloatArray | None, FloatArray | None]:
        """Cubic form along the meridian, (n, 1), and the rest beyond it, (n,), or None."""
        if found.cubic is None:
            return None, None
        heading = parts[:, 0] + 1j * parts[:, 1]
        cubic = (np.conj(found.cubic) * heading[:, np.newaxis] ** [1, 3]).real
        return cubic.sum(axis=1, keepdims=True), found.rest


def ripple(
    field: AtomicField, rings: tuple[FloatArray, FloatArray], counts: FloatArray
) -> float:
    """Twice the largest sum of the waves that rings of ``counts`` atoms add to F."""
    total = 0.0
    for attention in field.equation.attentions:
        beta = max(attention.beta, 1e-3)
        for angle, mass, count in zip(*rings, counts, strict=True):
            orders = count * np.arange(1, WAVES + 1)
            waves = ive(orders, beta * abs(np.sin(angle))).sum()
            total += attention.amplitude * mass / beta * float(waves)
    return 4 * total * (1 + 1e-6)
