r"""Whether a run is unstable along a symmetry that its start and its equation share.

A symmetry of the start and of the equation is one of every mu(t): the run finds the symmetric
solution, and starts nearby may go elsewhere.  Kernels of x.y have every symmetry; neurons whose
vectors span less than R^d have those that leave their span in place, rotations about an axis or a
reflection, which the start may have.

A run on a coarse grid tells, from the start times (1 + 1e-2 g), g a random field.  Of the parts
h_l of moments of degree l that the symmetry changes, 1 for a unit mass at a point, it measures

    |h| = max_l |h_l| sqrt((d-1) / (l (l+d-2))) <= W1 to a symmetric measure.

A density that is only carried along has |h| <= 1e-2 pi / 2, however it is compressed; in 170
runs of one or two neurons it ended below .032 or, but for one, above .04.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density, Measure, as_measure
from mfpde.measures.starts import perturbed_uniform
from mfpde.runs.layers import Dynamics, equations_of, largest_degree
from mfpde.runs.run import Run
from mfpde.runs.stopping import StepLimit
from mfpde.terms import ExternalTerm

BEGINNING = "start and equation share"
"""The first words of the note."""
AMPLITUDE = 1e-2
PARTED = 4 * AMPLITUDE
"""|h| of a state that parts from all symmetric ones; clusters slide less within coarse cells."""
SAME = 1e-10
"""|h| of a density under a symmetry of its own."""
WATCHED_DEGREE = 16
LEAST_DEGREES = {2: 127, 3: 31}
RTOL, MOST_STEPS = 1e-2, 300


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
        r"""Return max_l |h_l| sqrt((d-1) / (l (l+d-2))), at most W1 to a symmetric measure.

        The h_l are what the symmetry changes of the moments of degree l, 1 for a unit mass.
        """
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
    grid, from the time ``begun`` until ``ended``; ``solve`` makes the coarse run.
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
        f"{BEGINNING} {symmetry}, and so does every state of the run, which is unstable: a start "
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
