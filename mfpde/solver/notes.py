r"""What to know before one believes a run: symmetry that is unstable, mass that the grid holds.

A symmetry of the start and of the equation is one of every mu(t): the run finds the symmetric
solution, and starts nearby may go elsewhere.  Kernels of x.y have every symmetry; neurons whose
vectors span less than R^d have those that leave their span in place, rotations about an axis or a
reflection, which the start may have.  A run on a coarse grid tells, from the start times
(1 + 1e-2 g), g a random field.  Of the parts h_l of moments of degree l that the symmetry changes,
1 for a unit mass at a point, it measures

    |h| = max_l |h_l| sqrt((d-1) / (l (l+d-2))) <= W1 to a symmetric measure.

A density that is only carried along has |h| <= 1e-2 pi / 2, however it is compressed; in 170
runs of one or two neurons it ended below .032 or, but for one, above .04.

A half-stable point of rest attracts from one side and repels to the other, as the common kink of
two opposite ReLU neurons may: v(x) = -a x for x < 0 and b x for x > 0, a, b > 0, or the mirror
image.  Mass that comes from the left contracts like e^(-at) to far below a cell, and leaves to
the right at the rate b once it has passed 0.  When it passes is decided by velocities at 0 far
below a h, and by its place within the cell, which a density on the grid does not know: grids part
there, and none is near the solution of the equation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import null_space

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.field import GridField
from mfpde.geometry import Geometry
from mfpde.measures.measure import AnyMeasure, Density, Measure, as_measure
from mfpde.measures.starts import perturbed_uniform
from mfpde.runs.layers import Dynamics, equations_of, largest_degree
from mfpde.runs.run import Run
from mfpde.runs.stopping import StepLimit
from mfpde.terms import ExternalTerm

SYMMETRY = "start and equation share"
"""The first words of the note on a symmetry."""
AMPLITUDE = 1e-2
PARTED = 4 * AMPLITUDE
"""|h| of a state that parts from all symmetric ones; clusters slide less within coarse cells."""
SAME = 1e-10
"""|h| of a density under a symmetry of its own."""
WATCHED_DEGREE = 16
LEAST_DEGREES = {2: 127, 3: 31}
RTOL, MOST_STEPS = 1e-2, 300
LEAST_SHARE = 0.1
"""Share of the mass in three cells about a half-stable point that is worth a note."""
CONCENTRATION = 4.0
"""Mass of a cell of such a structure over that two cells away, at least."""
BESIDE_POLES = 2
"""Cells at either end of a zonal grid, whose neighbours are no others."""


def find_notes(
    dynamics: Dynamics,
    start: Measure,
    solve: Callable[..., Run],
    *,
    begun: float,
    ended: float,
    times: Sequence[float],
    states: Sequence[Any],
) -> list[str]:
    """Return the notes on a run from ``start``, from one time to another, of these saves.

    ``solve`` makes the coarse run.  What cannot be judged, as where numbers overflow, has no
    note: no run that has ended well is lost to it.
    """
    notes: list[str | None] = []
    unclear = (ValueError, ArithmeticError, MemoryError)
    with suppress(*unclear), np.errstate(all="ignore"):
        arguments = dynamics, start, solve, begun, ended
        notes.append(describe_unstable_symmetry(*arguments))
    with suppress(*unclear), np.errstate(all="ignore"):
        notes.append(describe_half_stable_mass(dynamics, times, states))
    return [note for note in notes if note is not None]


class Symmetry(NamedTuple):
    """All rotations, those about an ``axis`` (d,), or the reflection that turns it around."""

    axis: FloatArray | None = None
    is_reflection: bool = False

    def __str__(self) -> str:
        if self.axis is None:
            return "all rotations"
        # Of the two signs one, and no -0.
        sign = np.sign(self.axis[np.abs(self.axis).argmax()])
        shown = (np.round(sign * self.axis, 4) + 0.0).tolist()
        if self.is_reflection:
            return f"the reflection that takes {shown} to its opposite"
        return f"all rotations about {shown}"

    def remove_mean(
        self, moments: ComplexArray, geometry: Geometry, degree: int
    ) -> ComplexArray:
        """Return ``moments`` up to ``degree`` without the part that the symmetry keeps."""
        degrees = geometry.degrees(degree)
        if self.axis is None:
            return np.where(degrees > 0, moments, 0)
        if self.is_reflection:
            heights = geometry.points @ self.axis
            mirrored = geometry.points - 2 * heights[..., np.newaxis] * self.axis
            values = geometry.field_at(moments, mirrored).values
            probabilities = geometry.areas / geometry.areas.sum()
            return (moments - geometry.moments(values * probabilities, degree)) / 2
        # Of each degree one harmonic is kept, P_l(x.axis).
        kept = geometry.atom_moments(self.axis[np.newaxis], np.ones(1), degree)
        counts = geometry.multiplicities(len(moments))
        parts = np.bincount(degrees, counts * (kept.conj() * moments).real)
        squares = np.bincount(degrees, counts * np.abs(kept) ** 2)
        return np.asarray(moments - (parts / squares)[degrees] * kept)

    def measure_breaking(self, density: Density) -> float:
        """Return |h|, the largest part of the moments of ``density`` that the symmetry changes."""
        geometry, d = density.geometry, density.dimension
        degree = min(WATCHED_DEGREE, geometry.max_degree)
        degrees, l = geometry.degrees(degree), np.arange(1, degree + 1)
        first = geometry.points.reshape(-1, d)[:1]
        point = geometry.atom_moments(first, np.ones(1), degree)
        moments = geometry.moments(density.masses, degree)
        squares, norms = (
            np.bincount(degrees, geometry.multiplicities(len(h)) * np.abs(h) ** 2)[1:]
            for h in (self.remove_mean(moments, geometry, degree), point)
        )
        return float(np.sqrt(squares / norms * (d - 1) / (l * (l + d - 2))).max())


def describe_unstable_symmetry(
    dynamics: Dynamics,
    start: Measure,
    solve: Callable[..., Run],
    begun: float,
    ended: float,
) -> str | None:
    """Return the note on a symmetry along which a run is unstable; None without one.

    Judged are densities under neurons on the circle or the sphere, and the uniform one on any
    grid, from the time ``begun`` until ``ended``.
    """
    equations, density = equations_of(dynamics), start.density
    terms = [term for equation in equations for term in equation.interactions]
    are_even = terms and all(term.is_zonal for term in terms)
    if not are_even or len(start.atoms) or ended <= begun:
        return None
    symmetry = find_symmetry({e for one in equations for e in one.externals})
    is_zonal = density.geometry.axis is not None
    if symmetry is None or (is_zonal and symmetry.axis is not None):
        return None
    if symmetry.measure_breaking(density) > SAME:
        return None
    degree = largest_degree(dynamics, density.geometry)
    run = solve(
        dynamics,
        perturb_coarsely(density, degree),
        start_time=begun,
        t_end=ended,
        save_at=[ended],
        rtol=RTOL,
        stop=StepLimit(MOST_STEPS),
    )
    if symmetry.measure_breaking(as_measure(run.final).density) <= PARTED:
        return None
    return (
        f"{SYMMETRY} {symmetry}, and so does every state of the run, which is unstable: a start "
        f"perturbed by {AMPLITUDE:g} has parted from it by t = {run.final_time:.4g}; perturb the "
        f"start (perturbed_uniform(geometry, amplitude={AMPLITUDE:g})) to see where others go"
    )


def perturb_coarsely(density: Density, degree: int) -> Density:
    """Return the density with a perturbation, on a coarse grid that represents ``degree``."""
    grid, values = density.geometry, density.values
    if grid.axis is None:
        coarse = grid.with_degree(max(LEAST_DEGREES[grid.dimension], degree))
        known = min(coarse.max_degree, grid.max_degree)
        grid, values = coarse, coarse.synthesis(grid.moments(density.masses, known))
    noise = perturbed_uniform(grid, AMPLITUDE).values
    return Density(grid, np.maximum(values, 0.0) * noise).normalized()


def find_symmetry(externals: Iterable[ExternalTerm]) -> Symmetry | None:
    """Return the symmetry of neurons, whose vectors span less than R^d; None without one."""
    vectors = []
    for term in externals:
        neurons = term.layer
        if neurons is None:
            return None
        vectors += [*neurons.directions, neurons.output_bias]
        vectors += [] if neurons.is_gradient else [*neurons.weights]
    if not vectors:
        return Symmetry()
    across = null_space(np.array(vectors), rcond=SAME).T
    if len(across) == 0:
        return None
    if len(across) == 1:
        return Symmetry(across[0], is_reflection=True)
    return Symmetry(null_space(across)[:, 0])


def describe_half_stable_mass(
    dynamics: Dynamics, times: Sequence[float], states: Sequence[AnyMeasure]
) -> str | None:
    """Return the note on mass that stood at a half-stable point of rest at a save; None without.

    Where the start stood is the user's.  Layers, and densities on surfaces, are not judged.
    """
    if len(states) < 2 or not isinstance(dynamics, MeanFieldEquation):
        return None
    geometry = as_measure(states[0]).geometry
    if len(geometry.shape) > 1:
        return None
    layers = [term.layer for term in dynamics.on(geometry).externals]
    if not any(layer is None or layer.activation.kinks for layer in layers):
        # Beside a point of rest of a smooth velocity both sides move alike.
        return None
    masses = np.array([as_measure(state).density.masses for state in states])
    share = _ahead(masses, -1) + masses + _ahead(masses, 1)
    beyond = np.maximum(_ahead(masses, -2), _ahead(masses, 2))
    stands = (share >= LEAST_SHARE) & (masses >= CONCENTRATION * beyond)
    stands[0] = False
    if geometry.axis is not None:
        stands[:, :BESIDE_POLES] = stands[:, -BESIDE_POLES:] = False
    for save in reversed(np.flatnonzero(stands.any(axis=1))):
        field = GridField(dynamics.on(geometry), as_measure(states[save]))
        rates = half_stable_rates(field.components[0]) / geometry.spacing
        found = stands[save] & (rates * (times[-1] - times[0]) >= 1)
        if found.any():
            cell = int(found.argmax())
            angle = (cell + 0.5) * geometry.spacing
            return (
                f"at t = {times[save]:.4g} a share {share[save, cell]:.2g} of the mass stood "
                f"within a cell of {geometry!r} at the angle {angle:.4g}, at a point of rest "
                "that attracts from one side and repels to the other: when it leaves depends on "
                "its place within the cell, which the grid does not know; compare a finer grid"
            )
    return None


def half_stable_rates(velocity: FloatArray) -> FloatArray:
    """Return the smaller of the rates a and b of a half-stable point in each cell; 0 for none.

    ``velocity`` (n,) is taken as one line through two cells on either side of a cell: both
    vanish within the cell, and their slopes have opposite signs.
    """
    left, right = _ahead(velocity, -1), _ahead(velocity, 1)
    slopes = np.array([left - _ahead(velocity, -2), _ahead(velocity, 2) - right])
    with np.errstate(divide="ignore", invalid="ignore"):
        # In cells from its middle.
        zeros = np.abs([left / slopes[0] + 1, right / slopes[1] - 1]).max(axis=0)
    is_half_stable = (slopes[0] * slopes[1] < 0) & (zeros <= 1)
    return np.where(is_half_stable, np.abs(slopes).min(axis=0), 0.0)


def _ahead(values: FloatArray, cells: int) -> FloatArray:
    """Return the values (..., n) that stand so many cells further around."""
    return np.roll(values, -cells, axis=-1)
