r"""Distributions of measures on a line of angles, exactly: quantiles, arcs, W1 and W2.

On the circle F(x) = mu([0, x]): the mass of a cell is spread evenly over the cell and an atom
is a jump, so that F is linear between finitely many nodes; beyond one turn,
F(x + 2 pi) = F(x) + mu(S^1).

Of a zonal measure F(theta) = mu{x : angle(x, e) <= theta}: the mass of a band is spread evenly
over its polar angles and an atom, which stands for its ring, is a jump.

With the quantiles of two probabilities, which are piecewise linear,

    W_p^p = \int_0^1 |Q_F(u) - Q_G(u)|^p du                  between polar angles,
    W_p^p = min_a \int_0^1 |Q_F(u - a) - Q_G(u)|^p du        on the circle, for the arc length,

there with lifted quantiles, Q(u + 1) = Q(u) + 2 pi (Delon, Salomon & Sobolevski, 2010, Fast
transport optimization for Monge costs on the circle; Rabin, Delon & Gousseau, 2011,
Transportation distances on the circle).  Between zonal measures the distance is that of the
polar angles: the angle is a 1-Lipschitz function on the sphere, so that no plan is cheaper; and
moving mass along meridians costs just this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, read_only, real_array, real_number
from mfpde.geometry import Circle, Zonal
from mfpde.geometry.base import as_kind
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of

TURN = 2 * np.pi

ANGLE_ROUNDING = 1e-14
"""An atom this close to the end of a closed arc, in radians, lies on the end."""
SHIFT_TOLERANCE = 2.0**-53
MOST_SHIFTS = 1000


@dataclass(frozen=True, eq=False)
class AngularDistribution:
    """The function F on [0, span]: piecewise linear, nondecreasing, with jumps at the atoms.

    ``angles`` and ``levels`` (n,) are nodes of its graph from (0, 0) to (span, total mass), both
    nondecreasing: a jump of F is a vertical edge, a gap of the measure a horizontal one.  Read
    the other way the graph is the quantile's.
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
        if self.total_mass <= 0:
            raise ValueError(
                f"total mass = {self.total_mass:g} must be above 0 to have quantiles"
            )
        levels = read_only(self.levels / self.total_mass)
        return AngularDistribution(self.angles, levels)

    def cdf(self, angles: ArrayLike) -> FloatArray:
        """Values F(x) (...) at any real ``angles`` (...), with F(x + 2 pi) = F(x) + total mass."""
        turns, rest = np.divmod(real_array("angles", angles), self.span)
        # Of several nodes at one angle np.interp takes the last: F is continuous from the right.
        return turns * self.total_mass + np.interp(rest, self.angles, self.levels)

    def quantile(self, levels: ArrayLike) -> FloatArray:
        """Quantiles Q(u) = min {x : F(x) >= u}, with Q(u + total mass) = Q(u) + 2 pi.

        For a smooth density, known at the centres of cells of width h, the error is
        O(h^2) where the density is positive.  ``levels`` are any real masses, of any shape;
        ``ValueError`` if the total mass is zero.
        """
        # Backwards the last of several nodes at one level is that of the smallest angle.
        backwards = -self.normalized().levels[::-1], self.angles[::-1]
        shares = real_array("levels", levels) / self.total_mass
        turns = np.ceil(shares) - 1
        return np.asarray(turns * self.span + np.interp(turns - shares, *backwards))

    def largest_ball_mass(self, radius: float) -> float:
        """Levy's concentration function: the supremum over x of mu([x - r, x + r]).

        The mass of a closed arc is linear in x between the centres at which an end of it meets
        a node, so that only these are tried.  From ``radius`` r = pi on it is the whole circle;
        one below 0 is a ``ValueError``.
        """
        radius = real_number("radius", radius, at_least=0.0)
        reach = radius + ANGLE_ROUNDING
        if reach >= np.pi:
            return self.total_mass
        centres = np.concatenate([self.angles - radius, self.angles + radius])
        return float((self.cdf(centres + reach) - self.cdf(centres - reach)).max())


def polar_angles(points: FloatArray) -> FloatArray:
    """Angles (...) of points (..., d) from the last axis, accurate at the poles too."""
    across = np.linalg.norm(points[..., :-1], axis=-1)
    return np.asarray(np.arctan2(across, points[..., -1]))


class _Coupling(NamedTuple):
    """A monotone coupling, linear in each of m intervals of the level.

    Widths (m,) of the intervals; Q_G, and Q_G - Q_F, at both ends of each, (m, 2).
    """

    widths: FloatArray
    angles: FloatArray
    gaps: FloatArray

    def cost(self, order: int) -> float:
        """Integral of |Q_F - Q_G|^order over the levels."""
        starts, ends = self.gaps.T
        if order == 2:
            return float(self.widths @ (starts**2 + starts * ends + ends**2) / 3)
        sizes = np.abs(starts) + np.abs(ends)
        # A ramp from p < 0 to q > 0 makes two triangles: (p^2 + q^2) / 2(|p| + |q|).
        crosses = starts * ends < 0
        triangles = (starts**2 + ends**2) / np.where(crosses, sizes, 1.0)
        return float(self.widths @ np.where(crosses, triangles, sizes) / 2)

    def slope(self, order: int) -> float:
        """Derivative of the cost by the shift, the integral of d|Q_G - Q_F|^order / dQ_G dQ_G.

        A jump of Q_G is the step from one interval to the next, the last one over the end of
        the turn, and needs no other formula.
        """
        angles, gaps = self.angles.ravel(), self.gaps.ravel()
        steps = np.diff(angles, append=angles[0] + TURN)
        starts, ends = gaps, np.roll(gaps, -1)
        if order == 2:
            return float(steps @ (starts + ends))
        # The mean of the sign over a ramp.
        sizes = np.abs(starts) + np.abs(ends)
        return float(steps @ ((starts + ends) / np.where(sizes > 0, sizes, 1.0)))


def angular_distance(
    f: AngularDistribution, g: AngularDistribution, order: int
) -> float:
    """Distance W1 or W2 of two measures scaled to mass 1, on the circle over all shifts.

    The cost is convex in the shift, and the best shift, the zero of its slope, lies in [-1, 1].
    Each cost is an upper bound: that of the shift 0 is exact where atoms coincide.
    """
    f, g = f.normalized(), g.normalized()
    shifts = [0.0]

    def slope(shift: float) -> float:
        return _couple(f, g, shift).slope(order)

    if f.span == TURN:
        limits = {"xtol": SHIFT_TOLERANCE, "maxiter": MOST_SHIFTS}
        shifts.append(scipy.optimize.brentq(slope, -1, 1, **limits))
    least = min(_couple(f, g, shift).cost(order) for shift in shifts)
    return float(least ** (1 / order))


def _couple(f: AngularDistribution, g: AngularDistribution, shift: float) -> _Coupling:
    """Couple Q_F(u - shift), lifted to all levels, with Q_G(u), for u from 0 to 1."""
    turns = np.arange(-1, 3)[:, np.newaxis]
    lifted_levels = (f.levels + turns + shift).ravel()
    lifted_angles = (f.angles + f.span * turns).ravel()
    inside = lifted_levels[(lifted_levels > 0) & (lifted_levels < 1)]
    levels = np.union1d(inside, g.levels)
    ends = np.stack([levels[:-1], levels[1:]], axis=-1)
    angles = _interpolate(g.levels, g.angles, ends)
    gaps = angles - _interpolate(lifted_levels, lifted_angles, ends)
    return _Coupling(np.diff(levels), angles, gaps)


def _interpolate(
    levels: FloatArray, angles: FloatArray, ends: FloatArray
) -> FloatArray:
    """Angles (m, 2) at both ``ends`` of intervals on which the quantile is linear."""
    before = np.searchsorted(levels, ends[:, :1], side="right") - 1
    shares = (ends - levels[before]) / (levels[before + 1] - levels[before])
    return np.asarray(angles[before] + shares * (angles[before + 1] - angles[before]))
