r"""Cumulative distributions of measures on a line of angles, exactly.

On the circle F(x) = mu([0, x]): the mass of a cell is spread evenly over the cell and an atom
is a jump, so that F is linear between finitely many breakpoints; beyond one turn,
F(x + 2 pi) = F(x) + mu(S^1).

Of a zonal measure C(theta) = mu{x : angle(x, e) <= theta}: the mass of a band is spread evenly
over its polar angles and an atom, which stands for its ring, is a jump, so that C is piecewise
linear on [0, pi].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, IntArray, read_only, real_array, real_number
from mfpde.geometry.circle import angles_of
from mfpde.geometry.zonal import as_zonal
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of

TURN = 2 * np.pi

ANGLE_ROUNDING = 1e-14
"""An atom this close to the end of a closed arc, in radians, lies on the end."""


def on_circle(measure: AnyMeasure) -> bool:
    """Whether the measure lives on S^1: atoms with d = 2, or a density on a Circle."""
    if isinstance(measure, Atoms):
        return measure.dimension == 2
    return as_measure(measure).geometry.dimension == 2


@dataclass(frozen=True, eq=False)
class CircularDistribution:
    """The function F on [0, 2 pi): piecewise linear, nondecreasing, with jumps at the atoms.

    Attributes
    ----------
    breakpoints
        Angles x_0 = 0 < x_1 < ... < 2 pi where F has a kink or a jump, shape (m,).
    left, right
        F(x_k-) and F(x_k), shape (m,); left[0] = 0, and F is linear from right[k] to
        left[k + 1].
    total_mass
        F(2 pi-), the mass of the circle.
    """

    breakpoints: FloatArray
    left: FloatArray
    right: FloatArray
    total_mass: float

    @classmethod
    def of(cls, measure: AnyMeasure) -> CircularDistribution:
        """Distribution of a density on a Circle, of atoms in the plane, or of both.

        Raises
        ------
        ValueError
            If the measure does not live on a circle.
        """
        if not on_circle(measure):
            place = (
                "atoms" if isinstance(measure, Atoms) else as_measure(measure).geometry
            )
            raise ValueError(
                f"the measure lives in dimension d = {measure.dimension} ({place}); a "
                "circular distribution needs a Circle or atoms with d = 2"
            )
        faces, cumulated = _cumulated_cells(measure)
        atoms = atoms_of(measure)
        positions = angles_of(atoms.points)

        nodes = np.union1d(faces, positions)
        places = np.searchsorted(nodes, positions)
        jumps = np.bincount(places, weights=atoms.masses, minlength=len(nodes))
        jumped = np.concatenate([[0.0], np.cumsum(jumps)])
        spread = np.interp(nodes, faces, cumulated)
        left, right = spread + jumped[:-1], spread + jumped[1:]
        return cls(
            read_only(nodes[:-1]),
            read_only(left[:-1]),
            read_only(right[:-1]),
            float(left[-1]),
        )

    def normalized(self) -> CircularDistribution:
        """Return the distribution scaled to total mass 1.

        Raises
        ------
        ValueError
            If the total mass is zero.
        """
        self._check_mass()
        return CircularDistribution(
            self.breakpoints,
            read_only(self.left / self.total_mass),
            read_only(self.right / self.total_mass),
            1.0,
        )

    @cached_property
    def graph(self) -> tuple[FloatArray, FloatArray]:
        """Nodes (angles, levels) of the graph from (0, 0) to (2 pi, total mass).

        A jump of F is a vertical edge, a gap of the measure a horizontal one: both
        arrays are nondecreasing, and read the other way the graph is the quantile's.
        """
        angles = np.append(np.repeat(self.breakpoints, 2), TURN)
        levels = np.append(
            np.stack([self.left, self.right], -1).ravel(), self.total_mass
        )
        moved = (np.diff(angles) > 0) | (np.diff(levels) > 0)
        new = np.concatenate([[True], moved])
        return read_only(angles[new]), read_only(levels[new])

    def cdf(self, angles: ArrayLike) -> FloatArray:
        """Values F(x), continuous from the right, with F(x + 2 pi) = F(x) + total mass.

        Parameters
        ----------
        angles
            Any real angles, of any shape.

        Returns
        -------
        Values of the same shape.
        """
        turns, rest = np.divmod(real_array("angles", angles), TURN)
        segments = np.searchsorted(self.breakpoints, rest, side="right") - 1
        return turns * self.total_mass + self._along(segments, rest)

    def left_limit(self, angles: ArrayLike) -> FloatArray:
        """Limits F(x-) from the left; parameters are those of :meth:`cdf`."""
        turns, rest = np.divmod(real_array("angles", angles), TURN)
        segments = np.searchsorted(self.breakpoints, rest, side="left") - 1
        values = self._along(np.maximum(segments, 0), rest)
        return turns * self.total_mass + np.where(segments < 0, 0.0, values)

    def quantile(self, levels: ArrayLike) -> FloatArray:
        """Quantiles Q(u) = min {x : F(x) >= u}, with Q(u + total mass) = Q(u) + 2 pi.

        For a smooth density, known at the centres of cells of width h, the error is
        O(h^2) where the density is positive.

        Parameters
        ----------
        levels
            Any real masses, of any shape; those in (0, total mass] give angles in
            [0, 2 pi].

        Returns
        -------
        Angles of the same shape.

        Raises
        ------
        ValueError
            If the total mass is zero.
        """
        self._check_mass()
        given = real_array("levels", levels)
        turns = np.ceil(given / self.total_mass) - 1
        rest = np.clip(given - turns * self.total_mass, 0.0, self.total_mass)
        angles, heights = self.graph
        ends = np.maximum(np.searchsorted(heights, rest, side="left"), 1)
        rises = heights[ends] - heights[ends - 1]
        # A zero rise is met only where rounding left no remainder: at the first node.
        shares = (rest - heights[ends - 1]) / np.where(rises > 0, rises, 1.0)
        steps = angles[ends] - angles[ends - 1]
        return np.asarray(turns * TURN + angles[ends - 1] + shares * steps)

    def ball_mass(self, angles: ArrayLike, radius: float) -> FloatArray:
        """Masses mu([x - r, x + r]) of closed arcs.

        Parameters
        ----------
        angles
            Centres x, of any shape.
        radius
            r >= 0 in radians; from pi on, the arc is the whole circle.

        Returns
        -------
        Masses of the same shape.

        Raises
        ------
        ValueError
            If the radius is negative.
        """
        centres = real_array("angles", angles)
        reach = real_number("radius", radius, at_least=0.0) + ANGLE_ROUNDING
        if reach >= np.pi:
            return np.full(centres.shape, self.total_mass)
        return self.cdf(centres + reach) - self.left_limit(centres - reach)

    def largest_ball_mass(self, radius: float) -> float:
        """Levy's concentration function: the supremum over x of mu([x - r, x + r]).

        The mass is linear in x between the centres at which an end of the arc meets a
        breakpoint, so that only these centres are tried.  Parameters and errors are those
        of :meth:`ball_mass`.
        """
        radius = real_number("radius", radius, at_least=0.0)
        centres = np.concatenate([self.breakpoints - radius, self.breakpoints + radius])
        return float(self.ball_mass(centres, radius).max())

    def _along(self, segments: IntArray, angles: FloatArray) -> FloatArray:
        nodes = np.append(self.breakpoints, TURN)
        starts = self.right[segments]
        rises = np.append(self.left[1:], self.total_mass)[segments] - starts
        shares = (angles - nodes[segments]) / (nodes[segments + 1] - nodes[segments])
        return np.asarray(starts + shares * rises)

    def _check_mass(self) -> None:
        if self.total_mass <= 0:
            raise ValueError(
                f"total mass = {self.total_mass:g} must be above 0 to have quantiles"
            )


def _cumulated_cells(measure: AnyMeasure) -> tuple[FloatArray, FloatArray]:
    """Faces from 0 to 2 pi, and the density's mass below each."""
    if isinstance(measure, Atoms):
        return np.array([0.0, TURN]), np.zeros(2)
    density = as_measure(measure).density
    faces = np.linspace(0.0, TURN, len(density.masses) + 1)
    cumulated = np.concatenate([[0.0], np.cumsum(density.masses)])
    circle = density.geometry
    first = float(angles_of(circle.points[0])) - circle.spacing / 2
    if abs(first) <= ANGLE_ROUNDING:
        return faces, cumulated
    # The last cells begin before angle 0, which cuts one of them.
    turned = np.concatenate([faces[:-1] - TURN, faces]) + first
    levels = np.concatenate([cumulated[:-1] - cumulated[-1], cumulated])
    inside = turned[(turned > 0.0) & (turned < TURN)]
    nodes = np.concatenate([[0.0], inside, [TURN]])
    below = np.interp(nodes, turned, levels)
    return nodes, below - below[0]


@dataclass(frozen=True, eq=False)
class PolarDistribution:
    """The graph of C, scaled to mass 1, from (0, 0) to (pi, 1).

    Attributes
    ----------
    angles, levels
        Nodes (m,) of the graph, both nondecreasing: a jump of C is a vertical edge, a gap
        of the measure a horizontal one.
    """

    angles: FloatArray
    levels: FloatArray

    @classmethod
    def of(cls, measure: AnyMeasure) -> PolarDistribution:
        """Distribution of a measure on a :class:`Zonal` grid, or of atoms as rings.

        Raises
        ------
        ValueError
            If the mass is zero, or the density lies on another geometry.
        """
        faces, cumulated = _cumulated_bands(measure)
        atoms = atoms_of(measure)
        positions = polar_angles(atoms.points)
        nodes = np.union1d(faces, positions)
        places = np.searchsorted(nodes, positions)
        jumps = np.bincount(places, weights=atoms.masses, minlength=len(nodes))
        jumped = np.concatenate([[0.0], np.cumsum(jumps)])
        spread = np.interp(nodes, faces, cumulated)
        levels = np.stack([spread + jumped[:-1], spread + jumped[1:]], axis=-1).ravel()
        if levels[-1] <= 0:
            raise ValueError(f"total mass = {levels[-1]:g} must be above 0")
        levels = np.maximum.accumulate(levels / levels[-1])
        return cls(read_only(np.repeat(nodes, 2)), read_only(levels))

    def quantile(
        self, levels: FloatArray, side: Literal["left", "right"] = "left"
    ) -> FloatArray:
        """Polar angles Q(u-) or Q(u+) for ``levels`` u in [0, 1], of any shape."""
        places = np.searchsorted(self.levels, levels, side=side)
        ends = np.clip(places, 1, len(self.levels) - 1)
        rises = self.levels[ends] - self.levels[ends - 1]
        shares = (levels - self.levels[ends - 1]) / np.where(rises > 0, rises, 1.0)
        steps = self.angles[ends] - self.angles[ends - 1]
        return np.asarray(self.angles[ends - 1] + np.clip(shares, 0.0, 1.0) * steps)


def polar_angles(points: FloatArray) -> FloatArray:
    """Angles (...) between points (..., d) and the last basis vector."""
    across = np.linalg.norm(points[..., :-1], axis=-1)
    return np.asarray(np.arctan2(across, points[..., -1]))


def _cumulated_bands(measure: AnyMeasure) -> tuple[FloatArray, FloatArray]:
    """Faces from 0 to pi, and the density's mass below each."""
    if isinstance(measure, Atoms):
        return np.array([0.0, np.pi]), np.zeros(2)
    density = as_measure(measure).density
    faces = as_zonal("measure", density.geometry).face_angles
    return faces, np.concatenate([[0.0], np.cumsum(density.masses)])
