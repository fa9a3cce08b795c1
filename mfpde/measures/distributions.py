r"""Cumulative distributions of measures on a line of angles, exactly.

On the circle F(x) = mu([0, x]): the mass of a cell is spread evenly over the cell and an atom
is a jump, so that F is linear between finitely many nodes; beyond one turn,
F(x + 2 pi) = F(x) + mu(S^1).

Of a zonal measure F(theta) = mu{x : angle(x, e) <= theta}: the mass of a band is spread evenly
over its polar angles and an atom, which stands for its ring, is a jump.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, read_only, real_array, real_number
from mfpde.geometry import Circle, Zonal
from mfpde.geometry.base import as_kind
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of

TURN = 2 * np.pi

ANGLE_ROUNDING = 1e-14
"""An atom this close to the end of a closed arc, in radians, lies on the end."""


@dataclass(frozen=True, eq=False)
class AngularDistribution:
    """The function F on [0, span]: piecewise linear, nondecreasing, with jumps at the atoms.

    Attributes
    ----------
    angles, levels
        Nodes of the graph of F from (0, 0) to (span, total mass), shape (n,); the span is
        2 pi, of polar angles pi.  A jump of F is a vertical edge, a gap of the measure a
        horizontal one: both arrays are nondecreasing, and read the other way the graph is
        the quantile's.
    """

    angles: FloatArray
    levels: FloatArray

    @classmethod
    def of(cls, measure: AnyMeasure) -> AngularDistribution:
        """Distribution of the angle on S^1, in higher dimensions of the polar angle.

        There a density lies on a :class:`Zonal` grid, or else is refused (``ValueError``), and
        an atom stands for its ring about the last axis.
        """
        atoms, on_circle = atoms_of(measure), measure.dimension == 2
        end = TURN if on_circle else np.pi
        positions = angles_of(atoms.points) if on_circle else polar_angles(atoms.points)
        faces, below = np.array([0.0, end]), np.zeros(2)
        if not isinstance(measure, Atoms):
            density = as_measure(measure).density
            below = np.append(0.0, np.cumsum(density.masses))
            if on_circle:
                circle = as_kind("geometry", density.geometry, Circle)
                turn = np.linspace(0.0, TURN, len(below))
                # Angle 0 may cut the last cell.
                faces = np.append(-circle.spacing, turn) + circle.first_face
                below = np.append(-density.masses[-1], below)
            else:
                faces = as_kind("geometry", density.geometry, Zonal).face_angles
        nodes = np.union1d(np.clip(faces, 0.0, end), positions)
        spread = np.interp(nodes, faces, below)
        places = np.searchsorted(nodes, positions)
        jumps = np.bincount(places, weights=atoms.masses, minlength=len(nodes))
        jumped = np.append(0.0, np.cumsum(jumps))
        ends = np.stack([jumped[:-1], jumped[1:]], axis=-1)
        levels = (ends + (spread - spread[0])[:, np.newaxis]).ravel()
        angles = np.repeat(nodes, 2)
        is_new = np.append(True, (np.diff(angles) > 0) | (np.diff(levels) > 0))
        return cls(read_only(angles[is_new]), read_only(levels[is_new]))

    @property
    def span(self) -> float:
        """The largest angle: 2 pi, of polar angles pi."""
        return float(self.angles[-1])

    @property
    def total_mass(self) -> float:
        """The mass of the measure."""
        return float(self.levels[-1])

    def normalized(self) -> AngularDistribution:
        """Return the distribution scaled to total mass 1; ``ValueError`` if it is 0."""
        self._check_mass()
        return AngularDistribution(
            self.angles, read_only(self.levels / self.total_mass)
        )

    def cdf(self, angles: ArrayLike) -> FloatArray:
        """Values F(x), continuous from the right, with F(x + 2 pi) = F(x) + total mass.

        ``angles`` are any real numbers, of any shape, which is that of the values.
        """
        turns, rest = np.divmod(real_array("angles", angles), self.span)
        # Of several nodes at one angle np.interp takes the last.
        return turns * self.total_mass + np.interp(rest, self.angles, self.levels)

    def quantile(self, levels: ArrayLike) -> FloatArray:
        """Quantiles Q(u) = min {x : F(x) >= u}, with Q(u + total mass) = Q(u) + 2 pi.

        For a smooth density, known at the centres of cells of width h, the error is
        O(h^2) where the density is positive.  ``levels`` are any real masses, of any shape;
        ``ValueError`` if the total mass is zero.
        """
        self._check_mass()
        given = real_array("levels", levels)
        turns = np.ceil(given / self.total_mass) - 1
        rest = given - turns * self.total_mass
        # Backwards the last of several nodes at one level is that of the smallest angle.
        backwards = -self.levels[::-1], self.angles[::-1]
        return np.asarray(turns * self.span + np.interp(-rest, *backwards))

    def ball_mass(self, angles: ArrayLike, radius: float) -> FloatArray:
        """Masses mu([x - r, x + r]) of closed arcs.

        ``angles`` x of any shape, ``radius`` r >= 0 in radians: from pi on, the arc is the
        whole circle.
        """
        centres = real_array("angles", angles)
        reach = real_number("radius", radius, at_least=0.0) + ANGLE_ROUNDING
        if reach >= np.pi:
            return np.full(centres.shape, self.total_mass)
        return self.cdf(centres + reach) - self.cdf(centres - reach)

    def largest_ball_mass(self, radius: float) -> float:
        """Levy's concentration function: the supremum over x of mu([x - r, x + r]).

        The mass is linear in x between the centres at which an end of the arc meets a
        node, so that only these centres are tried.  Parameters and errors are those of
        :meth:`ball_mass`.
        """
        radius = real_number("radius", radius, at_least=0.0)
        centres = np.concatenate([self.angles - radius, self.angles + radius])
        return float(self.ball_mass(centres, radius).max())

    def _check_mass(self) -> None:
        if self.total_mass <= 0:
            raise ValueError(
                f"total mass = {self.total_mass:g} must be above 0 to have quantiles"
            )


def polar_angles(points: FloatArray) -> FloatArray:
    """Angles (n,) of points (n, d) from the last axis, accurate at the poles too."""
    across = np.linalg.norm(points[:, :-1], axis=1)
    return np.asarray(np.arctan2(across, points[:, -1]))
