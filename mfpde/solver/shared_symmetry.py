r"""The symmetries that a density shares with equations, on the circle and the sphere.

A symmetry S is shared if S mu = mu and b(S x) = S b(x) for external drifts b, and if S commutes
with the matrices of heads; kernels of x.y have every symmetry.  An axis of rotation and the normal
of a mirror are principal axes of any symmetric tensor that is made of the density and the
equations alone, and so they are looked for among those of one, and among the coordinate axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density
from mfpde.terms import ExternalTerm, Head

SAME_DENSITY = 1e-10
SAME_DRIFT = 1e-8
"""Changes under a shared symmetry, relative to the largest value."""


class Symmetry(NamedTuple):
    """A symmetry in words, and its matrix (d, d) in the coordinates of a frame.

    It is a change of sign of one coordinate, or stands for all rotations about the last axis.
    """

    name: str
    matrix: FloatArray

    @property
    def is_rotation(self) -> bool:
        """Whether it stands for all rotations about the last axis."""
        return bool(np.count_nonzero(self.matrix) > len(self.matrix))

    def mean(self, masses: FloatArray, grid: Geometry) -> FloatArray:
        """The mean over the symmetry of ``masses`` on ``grid``, whose axes are the frame's."""
        if self.is_rotation:
            return np.broadcast_to(masses.mean(axis=1, keepdims=True), masses.shape)
        images = masses.ravel()[_images(grid, tuple(np.diag(self.matrix)))]
        return np.asarray((masses + images.reshape(masses.shape)) / 2)


class SharedSymmetries(NamedTuple):
    """An orthonormal frame, its axes in rows (d, d), and the symmetries along it."""

    frame: FloatArray
    symmetries: list[Symmetry]


def shared_symmetries(
    equations: Sequence[MeanFieldEquation], density: Density, grid: Geometry
) -> SharedSymmetries:
    """Return the symmetries of ``density`` on ``grid`` and of the ``equations``, perhaps none."""
    most = SharedSymmetries(np.eye(density.geometry.dimension), [])
    for frame in _frames(equations, density):
        found = [
            symmetry
            for symmetry in _along(frame)
            if all(
                _keeps(turned_equation(e, frame), symmetry.matrix) for e in equations
            )
        ]
        if len(found) > len(most.symmetries):
            values = density_on_frame(density, grid, frame)
            allowed = SAME_DENSITY * np.abs(values).max()
            found = [
                s
                for s in found
                if np.abs(s.mean(values, grid) - values).max() <= allowed
            ]
        if len(found) > len(most.symmetries):
            most = SharedSymmetries(frame, found)
    return most._replace(symmetries=_independent(most.symmetries))


def _independent(found: list[Symmetry]) -> list[Symmetry]:
    """Leave out mirrors through an axis of rotation: what breaks one breaks the rotations."""
    if not any(s.is_rotation for s in found):
        return found
    return [s for s in found if s.is_rotation or s.matrix[-1, -1] < 0]


def density_on_frame(density: Density, grid: Geometry, frame: FloatArray) -> FloatArray:
    """Values, relative to the uniform density, on a ``grid`` whose axes are the frame's."""
    own = density.geometry
    moments = own.moments(density.masses, min(own.max_degree, grid.max_degree))
    return own.synthesis_at(moments, np.ascontiguousarray(grid.points @ frame))


def turned_equation(
    equation: MeanFieldEquation, frame: FloatArray
) -> MeanFieldEquation:
    """The equation in the coordinates along the rows of ``frame``."""
    terms: list[Any] = []
    for term in equation.terms:
        if isinstance(term, ExternalTerm):
            terms.append(_TurnedTerm(term, frame))
        elif isinstance(term, Head):
            value = None if term.value is None else frame @ term.value @ frame.T
            bilinear = frame @ term.bilinear @ frame.T
            terms.append(replace(term, bilinear=bilinear, value=value))
        else:
            terms.append(term)
    return MeanFieldEquation(
        *terms, direction=equation.direction, diffusion=equation.diffusion
    )


@dataclass(frozen=True, eq=False)
class _TurnedTerm(ExternalTerm):
    """An external term in the coordinates along the rows of ``frame``."""

    term: ExternalTerm
    frame: FloatArray

    @property
    def is_gradient(self) -> bool:
        """Whether the term is the gradient of a potential."""
        return self.term.is_gradient

    def value(self, points: FloatArray) -> FloatArray:
        """The potential at ``points`` (..., d), shape (...)."""
        return self.term.value(points @ self.frame)

    def drift(self, points: FloatArray) -> FloatArray:
        """The drift at ``points`` (..., d), shape (..., d)."""
        drift = self.term.drift(np.ascontiguousarray(points @ self.frame))
        return np.asarray(drift @ self.frame.T)

    def check_dimension(self, dimension: int) -> None:
        """Let the term itself check the dimension."""
        self.term.check_dimension(dimension)

    def check_axis(self, axis: FloatArray) -> None:
        """Let the term itself check the axis."""
        self.term.check_axis(axis @ self.frame)


def _frames(
    equations: Sequence[MeanFieldEquation], density: Density
) -> Iterator[FloatArray]:
    """The coordinate axes, and the principal axes of a tensor, each of them once as the last."""
    geometry, masses = density.geometry, density.masses.ravel()
    points = geometry.points.reshape(-1, geometry.dimension)
    mean = masses @ points
    tensor = (masses * points.T) @ points + np.outer(mean, mean)
    for equation in equations:
        for term in equation.externals:
            tensor += _tensor_of(term, geometry)
        for head in equation.heads:
            tensor += head.bilinear + head.values_matrix / 3
    axes = np.linalg.eigh(tensor + tensor.T)[1].T
    for rows in (np.eye(len(axes)), axes):
        for last in range(len(axes)):
            yield np.roll(rows, last, axis=0)


def _tensor_of(term: ExternalTerm, geometry: Geometry) -> FloatArray:
    """A tensor (d, d) that has the symmetries of the term, and in general no others."""
    neurons = term.layer
    if neurons is None:
        points = geometry.points.reshape(-1, geometry.dimension)
        pulls = geometry.areas.reshape(-1, 1) * term.drift(points)
        mean = pulls.sum(axis=0)
        return np.asarray(pulls.T @ points + np.outer(mean, mean))
    # Sums over neurons are exact, where those over cells see a kink of a ReLU on the grid.
    directions, weights = neurons.directions, neurons.weights
    if weights.ndim == 2:
        return np.asarray(weights.T @ (directions + weights / 3))
    factors = weights + weights**2 / 3 + neurons.biases / 7
    return np.asarray((factors * directions.T) @ directions)


def _along(frame: FloatArray) -> Iterator[Symmetry]:
    """On the sphere rotations about the last axis of ``frame``; reflections of each axis."""
    if len(frame) == 3:
        cosine, sine = np.cos(1.0), np.sin(1.0)
        # Powers of a turn by 1 are all turns, up to any distance.
        turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
        yield Symmetry(f"all rotations about {_shown(frame[-1])}", turn)
    for row, normal in enumerate(frame):
        signs = np.where(np.arange(len(frame)) == row, -1.0, 1.0)
        name = f"the reflection that takes {_shown(normal)} to its opposite"
        yield Symmetry(name, np.diag(signs))


def _shown(vector: FloatArray) -> str:
    # Of the two signs one, and no -0.
    signed = vector * np.sign(vector[np.abs(vector).argmax()])
    return str((np.round(signed, 4) + 0.0).tolist())


def _keeps(equation: MeanFieldEquation, matrix: FloatArray) -> bool:
    """Whether external drifts, at random points, and heads are unchanged under ``matrix``."""
    points = np.random.default_rng(0).standard_normal((64, len(matrix)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    for term in equation.externals:
        drift = term.drift(points)
        change = term.drift(points @ matrix.T) - drift @ matrix.T
        if np.abs(change).max() > SAME_DRIFT * np.abs(drift).max():
            return False
    matrices = [
        m for head in equation.heads for m in (head.bilinear, head.values_matrix)
    ]
    return all(
        np.abs(m @ matrix - matrix @ m).max() <= SAME_DRIFT * np.abs(m).max()
        for m in matrices
    )


@lru_cache(maxsize=8)
def _images(grid: Geometry, signs: tuple[float, ...]) -> IntArray:
    """Flat numbers of the cells onto which a change of signs maps the cells."""
    points = grid.points.reshape(-1, grid.dimension)
    return np.asarray(cKDTree(points).query(points * np.array(signs))[1])
