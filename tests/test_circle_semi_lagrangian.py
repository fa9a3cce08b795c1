"""Semi-Lagrangian transport on the circle: orders in space and time, jumps, conversions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfpde
from mfpde.measures.measure import as_measure
from mfpde.transport.semi_lagrangian_schemes import cell_means, centre_values
from validation.circle_cases import (
    Array,
    cosine_potential,
    density_of,
    l1_distance,
    orders,
    poisson,
    wrapped,
)

CELLS = [64, 128, 256, 512]
WEAK = mfpde.Perceptron([[1.0, 0.0], [0.0, 1.0]], [0.4, -0.25], "gelu")


def smooth_start(circle: mfpde.Circle) -> mfpde.Density:
    x = circle.angles
    return mfpde.Density(
        circle, (1 + 0.3 * np.cos(x) + 0.2 * np.sin(2 * x)) / (2 * np.pi)
    )


def final(
    equation: mfpde.MeanFieldEquation,
    start: mfpde.Density,
    t_end: float,
    **options: float,
) -> mfpde.Density:
    run = mfpde.solve(
        equation,
        start,
        t_end=t_end,
        save_at=[t_end],
        transport="semi_lagrangian",
        **options,  # type: ignore[arg-type]
    )
    assert run.mass_drift <= 1e-14
    return run.final.density


def test_kuramoto_is_of_third_order_and_better() -> None:
    """Ott-Antonsen (exact.md's first case): steps and cells halved together."""
    equation = mfpde.MeanFieldEquation(mfpde.Attention(0.0), direction="ascent")
    odds = np.exp(3.0) * 0.3**2 / (1 - 0.3**2)
    r = float(np.sqrt(odds / (1 + odds)))
    errors = []
    for n in CELLS:
        circle = mfpde.Circle(n)
        start = mfpde.Density(circle, poisson(circle.angles, 0.3, 0.7))
        density = final(equation, start, 3.0, rtol=1.0, max_step=32 / n)
        errors.append(l1_distance(density, poisson(circle.angles, r, 0.7)))
    assert (orders(errors) >= 3.0).all()
    assert errors[-1] < 1e-6


def moebius(angles: Array) -> Array:
    """Density at t = 1.5 in V = cos(theta - 2), from one of mode 1."""
    factor = np.exp(1.5)
    half = np.tan(wrapped(angles - 2.0) / 2)
    origin = 2 * np.arctan(factor * half)
    stretch = factor * (1 + half**2) / (1 + (factor * half) ** 2)
    return (1 + 0.5 * np.sin(origin + 1)) / (2 * np.pi) * stretch


def test_linear_potential_is_of_third_order_and_better() -> None:
    equation = mfpde.MeanFieldEquation(cosine_potential(1.0, 2.0), direction="ascent")
    errors = []
    for n in CELLS:
        circle = mfpde.Circle(n)
        begin = (1 + 0.5 * np.sin(circle.angles - 1.0)) / (2 * np.pi)
        start = mfpde.Density(circle, begin)
        density = final(equation, start, 1.5, max_step=32 / n)
        errors.append(l1_distance(density, moebius(circle.angles)))
    # Traces take a whole number of steps, so that single ratios vary: 5.8, 1.3 and 4.0.
    assert orders(errors).mean() >= 3.0
    assert errors[-1] < 1e-7


@pytest.mark.parametrize(
    "attention", [mfpde.Attention(0.0), mfpde.Attention(4.0, normalized=True)]
)
@pytest.mark.parametrize("with_atom", [False, True])
def test_order_four_in_time_of_density_and_atoms(
    *, attention: mfpde.Attention, with_atom: bool
) -> None:
    """Against the same grid with small steps: the spatial error drops out."""
    circle = mfpde.Circle(512)
    equation = mfpde.MeanFieldEquation(attention, WEAK, direction="ascent")
    atoms = mfpde.Atoms([[np.cos(2.5), np.sin(2.5)]], [0.3])
    density = smooth_start(circle)
    start = (
        mfpde.Measure(mfpde.Density(circle, 0.7 * density.values), atoms)
        if with_atom
        else as_measure(density)
    )

    def end(step: float) -> mfpde.Measure:
        run = mfpde.solve(
            equation,
            start,
            t_end=2.0,
            save_at=[2.0],
            rtol=1.0,
            max_step=step,
            transport="semi_lagrangian",
        )
        return run.final

    fine = end(1 / 64)
    waves = np.exp(-1j * np.outer(np.arange(1, 7), circle.angles))
    errors, atom_errors = [], []
    for step in (0.25, 0.125):
        measure = end(step)
        masses = measure.density.masses - fine.density.masses
        errors.append(float(np.abs(waves @ masses).max()))
        if with_atom:
            offset = measure.atoms.points - fine.atoms.points
            atom_errors.append(float(np.linalg.norm(offset)))
    # 3.78 to 3.97; with steps of 1/2 atoms are not there yet: 3.1 under softmax.
    assert (orders(errors) >= 3.7).all()
    if with_atom:
        assert (orders(atom_errors) >= 3.9).all()


@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_a_millionth_in_w1_on_512_cells_against_labels(direction: str) -> None:
    """beta = 4, V = 0.3 cos(theta - 1), t = 5."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(4.0), cosine_potential(0.3, 1.0), direction=direction
    )
    circle = mfpde.Circle(512)
    labels = mfpde.solve_particles(
        equation,
        smooth_start(mfpde.Circle(1024)),
        t_end=5.0,
        method="labels",
        rtol=1e-10,
        atol=1e-12,
    )
    density = final(equation, smooth_start(circle), 5.0, rtol=1e-5)
    exact = mfpde.label_density(labels.final, circle, at_centers=True)
    assert mfpde.wasserstein(density, exact) < 1e-6
    assert l1_distance(density, exact.values) < 2e-5


@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize("axis", [0.0, 0.4])
def test_a_jump_behind_a_neuron_does_not_ring(direction: str, axis: float) -> None:
    """Active side (1/2pi) M/(cos^2 + M^2 sin^2) between 1/M and M; dead side uniform."""
    factor = np.exp(1.5 if direction == "ascent" else -1.5)
    neuron = mfpde.Perceptron([[np.cos(axis), np.sin(axis)]], [1.0])
    equation = mfpde.MeanFieldEquation(neuron, direction=direction)
    low, high = sorted((1 / factor, factor))
    errors = []
    for n in (128, 256, 512, 1024):
        circle = mfpde.Circle(n)
        density = final(equation, mfpde.uniform(circle), 1.5)
        faces = wrapped(circle.face_angles - axis)
        active = np.arctan2(factor * np.sin(faces), np.cos(faces))
        cdf = np.where(np.abs(faces) < np.pi / 2, active, faces) / (2 * np.pi)
        exact = np.mod(cdf - np.roll(cdf, 1), 1.0) / circle.spacing
        errors.append(l1_distance(density, exact))
        scaled = 2 * np.pi * density.values
        # The foot next to the kink is off by a hundredth of a cell: no ringing beyond it
        # (0.989 and 1.003 measured, each on one grid).
        assert scaled.min() >= min(low, 1.0) * 0.985
        assert scaled.max() <= max(high, 1.0) * 1.005
        dead = np.abs(wrapped(circle.angles - axis)) > np.pi / 2 + 3 * circle.spacing
        np.testing.assert_allclose(scaled[dead], 1.0, rtol=1e-11)
    assert np.log2(errors[0] / errors[-1]) / 3 >= 1.0
    assert errors[-1] < 2.5e-4


@pytest.mark.parametrize("convert", [cell_means, centre_values])
@given(seed=st.integers(0, 2**31), size=st.integers(16, 90), power=st.integers(1, 40))
@settings(deadline=None, max_examples=60)
def test_conversions_keep_mass_sign_and_plateaus(
    *, convert: object, seed: int, size: int, power: int
) -> None:
    generator = np.random.default_rng(seed)
    values = generator.random(size) ** power
    values[: size // 2] = 1.0
    converted = convert(values)  # type: ignore[operator]
    assert converted.min() >= 0
    assert converted.sum() == pytest.approx(values.sum(), rel=1e-13)
    # Inside a plateau and next to a jump down nothing rises above it.
    np.testing.assert_allclose(converted[4 : size // 2 - 4], 1.0, atol=1e-15)
    assert converted[3 : size // 2 - 1].max() <= 1.0 + 1e-15


def test_conversions_are_of_order_eight_and_inverse() -> None:
    errors = []
    for n in (32, 64, 128):
        circle = mfpde.Circle(n)
        wave, half = 3.0, circle.spacing / 2
        values = 2 + np.sin(wave * circle.angles)
        means = 2 + np.sin(wave * circle.angles) * np.sin(wave * half) / (wave * half)
        there = np.abs(cell_means(values) - means).max()
        back = np.abs(centre_values(means) - values).max()
        errors.append(float(max(there, back)))
    assert (orders(errors) >= 7.5).all()


def test_a_jump_stays_where_it_is_under_conversion() -> None:
    circle = mfpde.Circle(64)
    values = np.where(circle.angles < 2.0, 3.0, 1.0)
    density = density_of(circle, values)
    for convert in (cell_means, centre_values):
        converted = convert(density.values)
        assert converted.max() <= density.values.max() * (1 + 1e-15)
        assert converted.min() >= density.values.min() * (1 - 1e-15)
