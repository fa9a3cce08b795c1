"""The circle solver against closed-form solutions, each with its observed order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from equations import ascent
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import atoms_at
from scipy.integrate import solve_ivp
from stored import assert_same

import mfpde
from mfpde.transport import scheme_for
from validation import circle_cases

CELLS = [256, 512, 1024]


def kuramoto_error(num_cells: int, **options: Any) -> float:
    """Ott-Antonsen, r0 = 0.3, t = 3, ascent: L1 error."""
    circle = mfpde.Circle(num_cells)
    start = mfpde.Density(circle, circle_cases.poisson(circle.angles, 0.3, 0.7))
    run = mfpde.solve(ascent(0.0), start, t_end=3.0, save_at=[3.0], **options)
    odds = np.exp(3.0) * 0.3**2 / (1 - 0.3**2)
    exact = circle_cases.poisson(circle.angles, float(np.sqrt(odds / (1 + odds))), 0.7)
    return circle_cases.l1_distance(run.final.density, exact)


def test_kuramoto_is_of_fourth_order_by_donor_blending_and_better() -> None:
    """Errors in time are far below the grid's."""
    errors = [kuramoto_error(n, transport="donor_blended", rtol=1e-6) for n in CELLS]
    assert errors[-1] <= 3e-8
    assert circle_cases.orders(errors).mean() >= 4.0


def test_kuramoto_is_of_third_order_by_semi_lagrangian_steps_and_better() -> None:
    """Steps and cells halved together."""
    errors = [
        kuramoto_error(n, transport="semi_lagrangian", rtol=1.0, max_step=32 / n)
        for n in (64, 128, 256, 512)
    ]
    assert (circle_cases.orders(errors) >= 3.0).all()
    assert errors[-1] < 1e-6


def separation(measure: mfpde.Measure, middle: float) -> float:
    """Distance of the means of the masses on both sides of ``middle``."""
    offset = circle_cases.wrapped(measure.geometry.angles - middle)
    masses = measure.density.masses
    upper = offset > 0
    means = [np.average(offset[s], weights=masses[s]) for s in (upper, ~upper)]
    return float(means[0] - means[1])


@pytest.fixture(scope="module")
def approach_of_two_bumps() -> float:
    """Time at which the bumps' Gauss-Hermite nodes as atoms are 0.1 apart: 175.275."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    angles = np.concatenate([0.08 * nodes - 0.4, 0.08 * nodes + 0.4])
    masses = np.tile(weights / weights.sum() / 2, 2)

    def rate(_: float, x: circle_cases.Array) -> circle_cases.Array:
        gaps = x[:, np.newaxis] - x
        return -(np.exp(25.0 * (np.cos(gaps) - 1)) * np.sin(gaps)) @ masses

    def excess(_: float, x: circle_cases.Array) -> float:
        return float(2 * masses[24:] @ (x[24:] - x[:24]) - 0.1)

    excess.terminal = True  # type: ignore[attr-defined]
    path = solve_ivp(
        rate, (0, 300), angles, method="LSODA", events=excess, rtol=1e-10, atol=1e-12
    )
    return float(path.t_events[0][0])


@pytest.mark.parametrize(("num_cells", "bound"), [(512, 0.007), (1024, 0.0035)])
@pytest.mark.parametrize("middle", [0.0, 3.1022703])
def test_two_bumps_merge_on_the_grid(
    num_cells, bound, *, middle, approach_of_two_bumps
) -> None:
    """Distance 0.8, sigma 0.08, beta 25: separation 0.1 a little early, wherever they sit.

    A bump on the grid ends a cell wide.  With any face velocity they would never merge.
    """
    circle = mfpde.Circle(num_cells)
    bumps = sum(
        np.exp(
            -(circle_cases.wrapped(circle.angles - middle - side) ** 2) / (2 * 0.08**2)
        )
        for side in (-0.4, 0.4)
    )
    times = np.linspace(165, 185, 81)
    options = {"t_end": 185.0, "save_at": times, "transport": "donor_blended"}
    run = mfpde.solve(ascent(25.0), circle_cases.density_of(circle, bumps), **options)
    gaps = np.array([separation(state, middle) for state in run.states])
    first = int(np.argmax(gaps < 0.1))
    share = (gaps[first - 1] - 0.1) / (gaps[first - 1] - gaps[first])
    merged = times[first - 1] + share * (times[first] - times[first - 1])
    assert gaps[-1] < 0.1
    # 512 cells: 0.61 to 0.63 % early; 1024: 0.17 to 0.29 %.
    assert merged == pytest.approx(approach_of_two_bumps, rel=bound)


@pytest.mark.parametrize("transport", ["donor_blended", "semi_lagrangian"])
def test_mass_carried_to_a_kink_rests_beside_it(transport: str) -> None:
    circle, offsets = mfpde.Circle(128), []
    for angle in np.random.default_rng(3).uniform(0, 2 * np.pi, 12):
        axis, centre = circle_cases.points_at([angle, angle + np.pi / 3])
        start = mfpde.Density.from_function(
            circle, lambda x, c=centre: np.exp(20 * (x @ c - 1))
        )
        equation = ascent(mfpde.Perceptron([axis], [-1.0]))
        run = mfpde.solve(equation, start, t_end=15.0, transport=transport)
        offsets.append(run.final.density.masses @ (circle.points @ axis))
    # The kink is anywhere in its cell; donors go on while the centre before it feels the drift.
    assert np.abs(offsets).max() <= 0.55 * circle.spacing
    assert abs(np.mean(offsets)) <= 0.4 * circle.spacing


NOBODY = mfpde.Atoms.none(2)
WEAK = mfpde.Perceptron([[1.0, 0.0], [0.0, 1.0]], [0.4, -0.25], "gelu")


@pytest.mark.parametrize(
    "attention", [mfpde.Attention(0.0), mfpde.Attention(4.0, normalized=True)]
)
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_order_four_in_time_of_density_and_atoms(attention, share) -> None:
    """Against the same grid with small steps: the spatial error drops out."""
    circle, equation = mfpde.Circle(512), ascent(attention, WEAK)
    waves = 1 + 0.3 * np.cos(circle.angles) + 0.2 * np.sin(2 * circle.angles)
    density = mfpde.Density(circle, (1 - share) / (2 * np.pi) * waves)
    start = mfpde.Measure(density, atoms_at([2.5], [share]) if share else NOBODY)
    options = {"t_end": 2.0, "save_at": [2.0], "transport": "semi_lagrangian"}

    def end(step: float) -> mfpde.Measure:
        return mfpde.solve(equation, start, rtol=1.0, max_step=step, **options).final

    fine = end(1 / 64)
    errors, atom_errors = [], []
    for step in (0.25, 0.125):
        measure = end(step)
        missed = np.fft.rfft(measure.density.masses - fine.density.masses)[1:7]
        errors.append(float(np.abs(missed).max()))
        missed = measure.atoms.points - fine.atoms.points
        atom_errors.append(float(np.abs(missed).max(initial=0)))
    # 3.78 to 3.97; with steps of 1/2 atoms are not there yet: 3.1 under softmax.
    assert (circle_cases.orders(errors) >= 3.7).all()
    if share:
        assert (circle_cases.orders(atom_errors) >= 3.9).all()


def conversions(cells: int):
    """From values at centres, times the width, to masses of cells, and back."""
    circle = mfpde.Circle(cells)
    scheme = scheme_for("semi_lagrangian", circle)
    transport = scheme.transport(ascent(0.0).on(circle))
    return transport.represent_masses, transport.restore_masses


@given(seed=st.integers(0, 2**31), size=st.integers(16, 90), power=st.integers(1, 40))
@settings(deadline=None, max_examples=60)
def test_conversions_keep_mass_sign_and_plateaus(seed, size, power) -> None:
    generator = np.random.default_rng(seed)
    values = generator.random(size) ** power
    values[: size // 2] = 1.0
    for convert in conversions(size):
        converted = convert(values)
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
        represented, restored = conversions(n)
        there = np.abs(represented(values) - means).max()
        back = np.abs(restored(means) - values).max()
        errors.append(float(max(there, back)))
    assert (circle_cases.orders(errors) >= 7.5).all()


SCHEME = "semi_lagrangian_donor_blended"


def driven(dimension=2, **options):
    neurons = mfpde.Perceptron.random(2, dimension, seed=777, activation="gelu")
    return ascent(5.0, neurons, **options)


def tilted_start(cells: int) -> mfpde.Density:
    return mfpde.Density.from_function(
        mfpde.Circle(cells), lambda x: 1 + 0.3 * x[..., 1] + 0.2 * x[..., 0] * x[..., 1]
    ).normalized()


def test_what_concentrates_is_handed_over_with_its_mass_and_sign() -> None:
    run = mfpde.solve(
        driven(), tilted_start(64), t_end=8.0, save_every=0.5, transport=SCHEME
    )
    assert 0.0 < run.statistics["semi_lagrangian_until"] < 8.0
    for state in run.states:
        assert state.density.values.min() >= 0.0
        assert state.total_mass == pytest.approx(1.0, abs=1e-12)
    assert np.diff(run.energies).min() >= -1e-6
    report = mfpde.concentration(run.final, run.equation)
    assert len(report.atoms) >= 1


HALF = mfpde.Density(mfpde.Circle(64), tilted_start(64).values / 2)
SPIKES = np.random.default_rng(0).random(64) ** 8
CAP = mfpde.Density.from_function(mfpde.Sphere(32), lambda x: 1.0 * (x[..., 2] > 0.7))


@pytest.mark.parametrize(
    ("start", "diffusion"),
    [
        (mfpde.Density(mfpde.Circle(64), SPIKES).normalized(), 0.0),
        (mfpde.Measure(HALF, mfpde.Atoms([[0.6, 0.8]], [0.5])), 0.0),
        (tilted_start(64), 0.05),
        (CAP.normalized(), 0.0),
    ],
    ids=["rough", "atoms", "diffusion", "rough on the sphere"],
)
def test_there_is_no_such_phase(start, diffusion) -> None:
    equation = driven(start.dimension, diffusion=diffusion)
    phase = "semi_lagrangian" if start.dimension == 2 else "spectral"
    runs = [
        mfpde.solve(equation, start, t_end=0.3, save_at=[0.1, 0.3], transport=name)
        for name in (f"{phase}_donor_blended", "donor_blended")
    ]
    assert_same(runs[0].states, runs[1].states)
    assert runs[0].statistics.get(f"{phase}_until", 0.0) == 0.0


def test_a_layer_begins_with_the_phase_only_where_the_grid_resolves_the_density() -> (
    None
):
    """It used to take a step of it, and throw that away, in each layer after clusters formed."""
    layers = mfpde.Layers([(driven(), 0.5)] * 16)
    run = mfpde.solve(layers, tilted_start(64), save_at=[8.0], transport=SCHEME)
    left = run.statistics["semi_lagrangian_until"]
    assert 0.0 < left < 5.0
    again = mfpde.solve(driven(), run.final, t_end=0.1, transport=SCHEME)
    assert again.statistics["semi_lagrangian_until"] == 0.0
