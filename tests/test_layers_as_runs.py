"""Layers one after the other are runs one after the other, each from where the last one ended."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfpde

# Cell masses are at most 1; what rounding differs by may grow a thousandfold within a layer, and
# in layers that collapse farther: then as a change of the start by its rounding grows.
ROUNDING = 1e-12
ROUNDING_OF_START = 1e-15
NUDGES = 3

CASES = [
    (mfpde.Circle(64), None, "grid"),
    (mfpde.Circle(64), "semi_lagrangian", "grid"),
    (mfpde.Circle(64), "semi_lagrangian_donor_blended", "grid"),
    (mfpde.Circle(64), "donor_blended", "grid"),
    (mfpde.Circle(160), None, "exact"),
    (mfpde.Circle(160), "donor_blended", "exact"),
    (mfpde.Sphere(32), None, "grid"),
    (mfpde.Sphere(32), "spectral_donor_blended", "grid"),
    (mfpde.Sphere(32), "donor_blended", "grid"),
    (mfpde.Sphere(48), None, "exact"),
    (mfpde.Zonal(5, 64), None, "grid"),
    (mfpde.Zonal(40, 64), None, "grid"),
]


def equation(geometry, generator) -> mfpde.MeanFieldEquation:
    """Attention, most often with a neuron that points anywhere the geometry allows."""
    direction = generator.standard_normal(geometry.dimension)
    if geometry.axis is not None:
        direction = geometry.axis * np.sign(direction[0])
    activation = generator.choice(["relu", "gelu", "linear"])
    neuron = mfpde.Perceptron(
        [direction / np.linalg.norm(direction)],
        [generator.uniform(-1.0, 1.0)],
        activation,
    )
    beta = generator.uniform(0.5, 4.0 if geometry.dimension < 5 else 8.0)
    terms = (mfpde.Attention(beta), neuron)
    side = generator.choice(["ascent", "descent"])
    return mfpde.MeanFieldEquation(*terms, direction=str(side))


def density(geometry, generator) -> mfpde.Density:
    """A smooth density, one with voids and jumps, or a narrow peak beside a void."""
    centre = generator.standard_normal(geometry.dimension)
    if geometry.axis is not None:
        centre = geometry.axis
    along = geometry.points @ (centre / np.linalg.norm(centre))
    kind = generator.integers(3)
    if kind == 0:
        values = np.exp(generator.uniform(0.0, 3.0) * along)
    elif kind == 1:
        values = 1.0 * (np.abs(along - generator.uniform(-0.5, 0.5)) < 0.4)
    else:
        values = np.maximum(along, 0.0) + 5.0 * np.exp(30.0 * (along - 1.0))
    return mfpde.Density(geometry, values + 1e-300).normalized()


def start_of(geometry, generator) -> mfpde.Measure:
    """A density, every other time beside two atoms; on a zonal grid they would be rings."""
    whole = density(geometry, generator)
    if geometry.axis is not None or generator.random() < 0.5:
        return mfpde.Measure(whole)
    points = generator.standard_normal((2, geometry.dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    part = mfpde.Density(geometry, 0.7 * whole.values)
    return mfpde.Measure(part, mfpde.Atoms(points, [0.1, 0.2]))


def apart(one, other) -> float:
    """The largest difference of cell masses, places and masses of atoms; inf for other atoms."""
    gaps = [np.abs(one.density.masses - other.density.masses).max()]
    if len(one.atoms) != len(other.atoms):
        return np.inf
    if len(one.atoms):
        gaps.append(np.abs(one.atoms.points - other.atoms.points).max())
        gaps.append(np.abs(one.atoms.masses - other.atoms.masses).max())
    return float(max(gaps))


def growth(layers, start, generator, options) -> float:
    """How far runs may end from one another whose starts differ by rounding.

    Of a change that is independent in each of n cells the direction that grows most has a share
    of 1 / sqrt(n): the change that grows most, of the same size in each cell, ends so much
    farther away.  Starts that end with other atoms tell nothing, and allow nothing.
    """

    def end_from(measure: mfpde.Measure) -> mfpde.Measure:
        return mfpde.solve(layers, measure, save_at=[layers.depth], **options).final

    whole = end_from(start)
    density = start.density
    farthest = 0.0
    for _ in range(NUDGES):
        noise = generator.standard_normal(density.values.shape)
        nudged = mfpde.Density(
            density.geometry, density.values * (1.0 + ROUNDING_OF_START * noise)
        )
        scale = density.total_mass / nudged.total_mass
        nudged = mfpde.Density(density.geometry, nudged.values * scale)
        gap = apart(end_from(mfpde.Measure(nudged, start.atoms)), whole)
        if np.isfinite(gap):
            farthest = max(farthest, gap)
    return float(np.sqrt(density.values.size)) * farthest


@pytest.mark.filterwarnings("ignore:.*coarse")
@pytest.mark.parametrize(("geometry", "transport", "atoms"), CASES)
@settings(deadline=None, max_examples=8)
@given(st.integers(0, 2**31), st.lists(st.floats(0.05, 1.5), min_size=2, max_size=4))
def test_layers_are_runs_one_after_the_other(
    geometry, transport, atoms, seed, durations
) -> None:
    generator = np.random.default_rng(seed)
    measure = start = start_of(geometry, generator)
    layers = mfpde.Layers([(equation(geometry, generator), d) for d in durations])
    options = {"transport": transport, "atoms": atoms}
    whole = mfpde.solve(layers, measure, save_at=[layers.depth], **options)
    runs = []
    for one, duration in layers:
        runs.append(
            mfpde.solve(one, measure, t_end=duration, save_at=[duration], **options)
        )
        measure = runs[-1].final
    gap = apart(whole.final, measure)
    if gap > ROUNDING:
        assert gap <= growth(layers, start, generator, options)
    for name in ("steps", "rejected"):
        counts = [run.statistics[name] for run in (whole, *runs)]
        assert counts[0] == sum(counts[1:])
