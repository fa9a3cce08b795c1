"""The circle's scheme that is semi-Lagrangian until the grid does not resolve the density."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde

SCHEME = "semi_lagrangian_donor_blended"


def driven(**options: object) -> mfpde.MeanFieldEquation:
    neurons = mfpde.Perceptron.random(2, 2, seed=777, activation="gelu")
    return mfpde.MeanFieldEquation(
        mfpde.Attention(5.0), neurons, direction="ascent", **options
    )


def smooth_start(cells: int) -> mfpde.Density:
    return mfpde.Density.from_function(
        mfpde.Circle(cells), lambda x: 1 + 0.3 * x[..., 1] + 0.2 * x[..., 0] * x[..., 1]
    ).normalized()


def moments(run: mfpde.Run | mfpde.ParticleRun, geometry: mfpde.Circle) -> np.ndarray:
    last = run.states[-1]
    if isinstance(last, mfpde.Atoms):
        return geometry.atom_moments(last.points, last.masses, 8)
    return geometry.moments(last.density.masses, 8)


def test_it_is_more_accurate_than_donor_blending_in_fewer_steps() -> None:
    fine = smooth_start(4096)
    labels = mfpde.solve_particles(
        driven(), fine, t_end=2.0, save_at=[2.0], method="labels", rtol=1e-9
    )
    exact = moments(labels, fine.geometry)
    errors, steps = {}, {}
    for name in (SCHEME, "donor_blended"):
        start = smooth_start(128)
        run = mfpde.solve(driven(), start, t_end=2.0, save_at=[2.0], transport=name)
        errors[name] = np.abs(moments(run, start.geometry) - exact).max()
        steps[name] = run.statistics["steps"]
    assert errors[SCHEME] < 0.3 * errors["donor_blended"]
    assert steps[SCHEME] < 0.3 * steps["donor_blended"]


def test_what_concentrates_is_handed_over_with_its_mass_and_sign() -> None:
    run = mfpde.solve(
        driven(), smooth_start(64), t_end=8.0, save_every=0.5, transport=SCHEME
    )
    assert 0.0 < run.statistics["semi_lagrangian_until"] < 8.0
    for state in run.states:
        assert state.density.values.min() >= 0.0
        assert state.total_mass == pytest.approx(1.0, abs=1e-12)
    assert np.diff(run.energies).min() >= -1e-6
    report = mfpde.concentration(run.final, run.equation)
    assert len(report.atoms) >= 1


def test_the_first_save_is_the_start_to_the_bit() -> None:
    start = smooth_start(64)
    for name in (SCHEME, "semi_lagrangian"):
        run = mfpde.solve(driven(), start, t_end=0.1, transport=name)
        assert np.array_equal(run.states[0].density.values, start.values)


@pytest.mark.parametrize("case", ["rough", "atoms", "diffusion"])
def test_there_is_no_such_phase(case: str) -> None:
    circle, equation = mfpde.Circle(64), driven()
    start: mfpde.Density | mfpde.Measure = smooth_start(64)
    if case == "rough":
        spikes = np.random.default_rng(0).random(64) ** 8
        start = mfpde.Density(circle, spikes).normalized()
    elif case == "atoms":
        half = mfpde.Density(circle, 0.5 * smooth_start(64).values)
        start = mfpde.Measure(half, mfpde.Atoms([[0.6, 0.8]], [0.5]))
    else:
        equation = driven(diffusion=0.05)
    runs = [
        mfpde.solve(equation, start, t_end=0.3, save_at=[0.3], transport=name)
        for name in (SCHEME, "donor_blended")
    ]
    first, second = (run.final.density.values for run in runs)
    assert np.array_equal(first, second)
    assert runs[0].statistics.get("semi_lagrangian_until", 0.0) == 0.0


def test_a_layer_begins_with_the_phase_only_where_the_grid_resolves_the_density() -> (
    None
):
    """It used to take a step of it, and throw that away, in each layer after clusters formed."""
    layers = mfpde.Layers([(driven(), 0.5)] * 16)
    run = mfpde.solve(layers, smooth_start(64), save_at=[8.0], transport=SCHEME)
    left = run.statistics["semi_lagrangian_until"]
    assert 0.0 < left < 5.0
    again = mfpde.solve(driven(), run.final, t_end=0.1, transport=SCHEME)
    assert again.statistics["semi_lagrangian_until"] == 0.0
