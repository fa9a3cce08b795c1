r"""Cumulative distributions of measures on a line of angles, exactly.

On the circle F(x) = mu([0, x]): the mass of a cell is spread evenly over the cell and an atom
is a jump, so that F is linear between finitely many nodes; beyond one turn,
F(x + 2 pi) = F(x) + mu(S^1).

Of a zonal measure F(theta) = mu{x : angle(x, e) <= theta}: the mass of a band is spread evenly
over its polar angles and an atom, which stands for its ring, is a jump.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, IntArray, read_only, real_array, real_number
from mfpde.geometry import Zonal
from mfpde.geometry.base import as_kind
from mfpde.geometry.circle import angles_of
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
class AngularDistribution:
    """The function F on [0, span]: piecewise linear, nondecreasing, with jumps at the atoms.

    Attributes
    ----------
    nodes
        Angles x_0 = 0 < x_1 < ... < x_m = span where F has a kink or a jump, shape (m + 1,);
        the span is 2 pi, of polar angles pi.
    left, right
        F(x_k-) and F(x_k), shape (m + 1,); left[0] = 0, and F is linear from right[k] to
        left[k + 1].
    """

    nodes: FloatArray
    left: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, measure: AnyMeasure) -> AngularDistribution:
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
        positions = angles_of(atoms_of(measure).points)
        return cls._with_jumps(*_cumulated_cells(measure), positions, measure)

    @classmethod
    def of_polar(cls, measure: AnyMeasure) -> AngularDistribution:
        """Distribution of the polar angle on a :class:`Zonal` grid, or of atoms as rings.

        Raises
        ------
        ValueError
            If the density lies on another geometry.
        """
        points = atoms_of(measure).points
        across = np.linalg.norm(points[..., :-1], axis=-1)
        positions = np.arctan2(across, points[..., -1])
        return cls._with_jumps(*_cumulated_bands(measure), positions, measure)

    @classmethod
    def _with_jumps(
        cls,
        faces: FloatArray,
        cumulated: FloatArray,
        positions: FloatArray,
        measure: AnyMeasure,
    ) -> AngularDistribution:
        """The mass of cells ``cumulated`` below their ``faces``, and atoms at ``positions``."""
        nodes = np.union1d(faces, positions)
        places = np.searchsorted(nodes, positions)
        masses = atoms_of(measure).masses
        jumps = np.bincount(places, weights=masses, minlength=len(nodes))
        jumped = np.concatenate([[0.0], np.cumsum(jumps)])
        spread = np.interp(nodes, faces, cumulated)
        left, right = spread + jumped[:-1], spread + jumped[1:]
        return cls(read_only(nodes), read_only(left), read_only(right))

    @property
    def breakpoints(self) -> FloatArray:
        """The nodes before the end, (m,)."""
        return self.nodes[:-1]

    @property
    def span(self) -> float:
        """The largest angle: 2 pi, of polar angles pi."""
        return float(self.nodes[-1])

    @property
    def total_mass(self) -> float:
        """The mass of the measure."""
        return float(self.right[-1])

    def normalized(self) -> AngularDistribution:
        """Return the distribution scaled to total mass 1.

        Raises
        ------
        ValueError
            If the total mass is zero.
        """
        self._check_mass()
        left, right = self.left / self.total_mass, self.right / self.total_mass
        return replace(self, left=read_only(left), right=read_only(right))

    @cached_property
    def graph(self) -> tuple[FloatArray, FloatArray]:
        """Nodes (angles, levels) of the graph from (0, 0) to (span, total mass).

        A jump of F is a vertical edge, a gap of the measure a horizontal one: both
        arrays are nondecreasing, and read the other way the graph is the quantile's.
        """
        angles = np.repeat(self.nodes, 2)
        levels = np.stack([self.left, self.right], axis=-1).ravel()
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
        turns, rest = np.divmod(real_array("angles", angles), self.span)
        segments = np.searchsorted(self.breakpoints, rest, side="right") - 1
        return turns * self.total_mass + self._along(segments, rest)

    def left_limit(self, angles: ArrayLike) -> FloatArray:
        """Limits F(x-) from the left; parameters are those of :meth:`cdf`."""
        turns, rest = np.divmod(real_array("angles", angles), self.span)
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
        return np.asarray(turns * self.span + angles[ends - 1] + shares * steps)

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
        starts = self.right[segments]
        rises = self.left[segments + 1] - starts
        widths = self.nodes[segments + 1] - self.nodes[segments]
        return np.asarray(starts + (angles - self.nodes[segments]) / widths * rises)

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


def _cumulated_bands(measure: AnyMeasure) -> tuple[FloatArray, FloatArray]:
    """Faces from 0 to pi, and the density's mass below each."""
    if isinstance(measure, Atoms):
        return np.array([0.0, np.pi]), np.zeros(2)
    density = as_measure(measure).density
    faces = as_kind("geometry", density.geometry, Zonal).face_angles
    return faces, np.concatenate([[0.0], np.cumsum(density.masses)])
