r"""The circle S^1: equal cells and Fourier moments f_k = \int e^{-ik theta} dmu.

Cell i has its centre at theta_i = (i + 1/2) h, h = 2 pi / n, so that faces lie at
multiples of h; a subclass may turn them all by its ``first_face``.  A cell mass is h times
the *point value* of the density at the centre: the trapezoidal rule makes every moment of
smooth data spectrally accurate.  Fields are summed by FFT (pyfftw) at equally spaced angles, at
others by the powers of x + iy, which a recurrence gives.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from mfpde.arrays import (
    ComplexArray,
    FloatArray,
    read_only,
    whole_number,
    writable,
)
from mfpde.compiled import compiled_fused, compiled_sum
from mfpde.geometry.base import FieldAtPoints, Geometry, as_kind
from mfpde.geometry.remap import edge_densities, sum_between_feet, wrap

# The interfaces of pyfftw load Dask, and with that pandas and xarray, where it is installed;
# nothing here uses them, and each start would take half a second longer.
try:
    # An import of what is None here fails as if it were not installed.
    sys.modules.setdefault("dask", None)  # type: ignore[arg-type]
    import pyfftw
finally:
    if not sys.modules["dask"]:
        del sys.modules["dask"]

MINIMUM_CELLS = 16
MOST_CELLS = 2**24
"""Beyond it a run would not fit in the memory of a common machine."""


def angles_of(points: FloatArray) -> FloatArray:
    """Angle in [0, 2 pi) of each point (..., 2) of the circle."""
    turned = np.mod(np.arctan2(points[..., 1], points[..., 0]), 2 * np.pi)
    # Rounding takes a point just below angle 0 to 2 pi itself.
    return np.where(turned >= 2 * np.pi, 0.0, turned)


def points_at(angles: FloatArray) -> FloatArray:
    """Points (..., 2) of the circle at ``angles`` (...), in radians."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def tangents_at(angles: FloatArray) -> FloatArray:
    """Counter-clockwise unit tangents (..., 2) at ``angles`` (...)."""
    return np.stack([-np.sin(angles), np.cos(angles)], axis=-1)


class FourierTransform:
    """A planned pair of real FFTs with its buffers (..., n); the way back is not normalised.

    FFTW chooses the plan by estimate, not by timing, so that a run gives the same
    digits every time (a measured plan is at most a few per cent faster at these
    lengths).
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        waves = (*shape[:-1], shape[-1] // 2 + 1)
        self.real = pyfftw.empty_aligned(shape, dtype="float64")
        self.complex = pyfftw.empty_aligned(waves, dtype="complex128")
        flags = ("FFTW_ESTIMATE", "FFTW_DESTROY_INPUT")
        self.forward = pyfftw.FFTW(self.real, self.complex, flags=flags)
        self.backward = pyfftw.FFTW(
            self.complex, self.real, direction="FFTW_BACKWARD", flags=flags
        )


@cache
def planned_transform(shape: tuple[int, ...], thread: int) -> FourierTransform:
    """Return the transform of rows (..., n) that the ``thread`` of this number may use."""
    return FourierTransform(shape)


class FourierFields:
    """Spectral fields c_0 + 2 Re sum_k c_k e^{ik theta} at equally spaced ``angles`` (n,)."""

    def __init__(self, angles: FloatArray) -> None:
        waves = np.arange(len(angles) // 2 + 1)
        self.points = read_only(points_at(angles))
        self.tangents = read_only(tangents_at(angles)[np.newaxis])
        self.phases = read_only(np.exp(1j * angles[0] * waves))
        self.opposite_phases = read_only(self.phases.conj())
        self._slopes = 1j * waves * self.phases

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values of fields with coefficients (..., k), shape (..., n)."""
        return self._sum(coefficients, self.phases)

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Slopes of fields by the angle, shape (1, ..., n)."""
        return self._sum(coefficients, self._slopes)[np.newaxis]

    def _sum(self, coefficients: ComplexArray, symbol: ComplexArray) -> FloatArray:
        *rows, size = coefficients.shape
        shape = (*rows, len(self.points))
        transform = planned_transform(shape, threading.get_ident())
        waves = transform.complex
        np.multiply(coefficients, symbol[:size], out=waves[..., :size])
        waves[..., size:] = 0.0
        transform.backward.execute()
        return np.array(transform.real)


@dataclass(frozen=True)
class Circle(Geometry):
    """The unit circle in ``num_cells`` equal cells (at least 16).

    ``points`` has shape (n, 2), ``areas`` shape (n,).  Good values: 512 to 2048 for
    beta up to 25; atoms need about 100 sqrt(beta) cells to form at the right place.

    Parameters
    ----------
    num_cells
        Number of cells, at least 16.

    Raises
    ------
    ValueError
        If ``num_cells`` is not a whole number from 16 to 2^24.
    """

    num_cells: int
    dimension = 2

    def __post_init__(self) -> None:
        whole_number(
            "num_cells", self.num_cells, at_least=MINIMUM_CELLS, at_most=MOST_CELLS
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (n,) of an array with one entry for each cell."""
        return (self.num_cells,)

    @property
    def spacing(self) -> float:
        """Cell width h = 2 pi / n."""
        return 2 * np.pi / self.num_cells

    @property
    def first_face(self) -> float:
        """Angle at which cell 0 begins, from 0 to the width of a cell: 0 on this grid."""
        return 0.0

    @cached_property
    def angles(self) -> FloatArray:
        """Angles (n,) of the cell centres, increasing."""
        centres = (np.arange(self.num_cells) + 0.5) * self.spacing
        return read_only(centres + self.first_face)

    @cached_property
    def face_angles(self) -> FloatArray:
        """Angles (n,) of each cell's upper face, increasing."""
        faces = (np.arange(self.num_cells) + 1.0) * self.spacing
        return read_only(faces + self.first_face)

    @property
    def points(self) -> FloatArray:
        """Cell centres, shape (n, 2)."""
        return self.centres.points

    @cached_property
    def areas(self) -> FloatArray:
        """Arc lengths of the cells, shape (n,)."""
        return read_only(np.full(self.num_cells, self.spacing))

    @property
    def tangents(self) -> FloatArray:
        """Unit tangents at the centres, shape (1, n, 2)."""
        return self.centres.tangents

    @property
    def max_degree(self) -> int:
        """Largest wave number below the Nyquist frequency."""
        return (self.num_cells - 1) // 2

    def cells_for_degree(self, degree: int) -> str:
        """Say which circle represents ``degree``."""
        return f"at least {2 * degree + 1} cells"

    def multiplicities(self, count: int) -> FloatArray:
        """Two, for wave numbers k and -k, but one for k = 0."""
        return np.where(np.arange(count) > 0, 2.0, 1.0)

    @cached_property
    def centres(self) -> FourierFields:
        """Spectral fields at the cell centres."""
        return FourierFields(self.angles)

    @cached_property
    def faces(self) -> FourierFields:
        """Spectral fields at the upper faces of the cells."""
        return FourierFields(self.face_angles)

    def _transform_masses(self, masses: FloatArray) -> FourierTransform:
        transform = planned_transform(masses.shape, threading.get_ident())
        transform.real[:] = masses
        transform.forward.execute()
        return transform

    def moments(self, masses: FloatArray, degree: int) -> ComplexArray:
        """Fourier moments sum m e^{-ik theta} of masses (..., n), k = 0..degree."""
        waves = self._transform_masses(masses).complex[..., : degree + 1]
        return np.asarray(waves * self.centres.opposite_phases[: degree + 1])

    def atom_moments(
        self, points: FloatArray, masses: FloatArray, degree: int
    ) -> ComplexArray:
        """Fourier moments sum m e^{-ik theta} of atoms, k = 0..degree."""
        points, masses = map(np.ascontiguousarray, (points, masses))
        return moments_of_atoms(points, masses, degree)

    def field_at(self, coefficients: ComplexArray, points: FloatArray) -> FieldAtPoints:
        """Values (...) and tangential gradient (..., 2) of the field at ``points``."""
        flat = np.ascontiguousarray(points.reshape(-1, 2))
        values, gradients = field_at_points(coefficients, flat)
        return FieldAtPoints(
            values.reshape(points.shape[:-1]), gradients.reshape(points.shape)
        )

    def coordinate_moments(self, moments: ComplexArray, degree: int) -> ComplexArray:
        """Moments of x dmu and y dmu, k = 0..degree - 1, from those of mu, shape (2, degree)."""
        ahead = moments[1 : degree + 1]
        behind = np.concatenate([moments[1:2].conj(), moments[: degree - 1]])
        halves = np.stack([behind + ahead, 1j * (ahead - behind)]) / 2
        return np.asarray(halves, dtype=np.complex128)

    def with_degree(self, degree: int) -> Circle:
        """A circle that represents ``degree``, whose cells begin at angle 0."""
        return Circle(max(MINIMUM_CELLS, 2 * degree + 2))

    @cached_property
    def _heat_rates(self) -> FloatArray:
        """Eigenvalues 4 sin^2(k h / 2) / h^2 of the two-point -Laplacian."""
        waves = np.sin(np.arange(self.num_cells // 2 + 1) * self.spacing / 2)
        return np.asarray((2 * waves / self.spacing) ** 2)

    def heat_flow(self, masses: FloatArray, time: float) -> FloatArray:
        """Flow of the two-point Laplacian: a random walk, hence positive and conservative."""
        transform = self._transform_masses(masses)
        transform.complex[:] *= np.exp(-time * self._heat_rates)
        mass = transform.complex[..., :1].real.copy()
        transform.backward.execute()
        # The exact flow is positive; the FFT leaves errors of 1e-17 in empty regions.
        flowed = np.maximum(transform.real, 0.0)
        flowed *= mass / flowed.sum(axis=-1, keepdims=True)
        return np.asarray(flowed)

    def remap_masses(self, masses: FloatArray, finer: Geometry) -> FloatArray:
        """Masses on ``finer``, a circle, by a monotone cubic in the cumulated mass."""
        circle = as_kind("finer geometry", finer, Circle)
        masses, turn = writable(masses), circle.first_face - self.first_face
        feet = np.linspace(0.0, self.num_cells, circle.num_cells + 1)
        feet += turn / self.spacing
        return sum_between_feet(masses, edge_densities(wrap(masses)), feet)


@compiled_sum
def moments_of_atoms(
    points: FloatArray, masses: FloatArray, degree: int
) -> ComplexArray:
    """Sum of m (x - iy)^k over atoms with ``points`` (n, 2), k = 0..degree."""
    n = len(points)
    x, y = points[:, 0].copy(), points[:, 1].copy()
    wave_real, wave_imag = masses.copy(), np.zeros(n)
    result = np.empty(degree + 1, dtype=np.complex128)
    for k in range(degree + 1):
        total_real = total_imag = 0.0
        for p in range(n):
            total_real += wave_real[p]
            total_imag += wave_imag[p]
            real = wave_real[p] * x[p] + wave_imag[p] * y[p]
            wave_imag[p] = wave_imag[p] * x[p] - wave_real[p] * y[p]
            wave_real[p] = real
        result[k] = complex(total_real, total_imag)
    return result


@compiled_fused
def field_at_points(
    coefficients: ComplexArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values c_0 + 2 Re sum_k c_k (x + iy)^k, (n,), and tangential gradients, (n, 2)."""
    n = len(points)
    x, y = points[:, 0].copy(), points[:, 1].copy()
    cosine, sine = np.ones(n), np.zeros(n)
    values, slopes = np.full(n, coefficients[0].real), np.zeros(n)
    for k in range(1, len(coefficients)):
        real, imag = 2.0 * coefficients[k].real, 2.0 * coefficients[k].imag
        for p in range(n):
            # (x + iy)^k.
            raised = cosine[p] * x[p] - sine[p] * y[p]
            sine[p] = cosine[p] * y[p] + sine[p] * x[p]
            cosine[p] = raised
            values[p] += real * cosine[p] - imag * sine[p]
            slopes[p] -= k * (real * sine[p] + imag * cosine[p])
    gradients = np.empty((n, 2))
    for p in range(n):
        gradients[p, 0] = -slopes[p] * y[p]
        gradients[p, 1] = slopes[p] * x[p]
    return values, gradients
