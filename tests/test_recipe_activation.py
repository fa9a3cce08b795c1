"""An activation added by its recipe: one complete entry, in one file."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mfpde
from mfpde.arrays import FloatArray
from mfpde.terms.activations import (
    ACTIVATIONS,
    Activation,
    ActivationBounds,
    register_activation,
)

mpl.use("Agg")


def arctan_primitive(z: FloatArray) -> FloatArray:
    return z * np.arctan(z) - np.log1p(z**2) / 2


ARCTAN = Activation(
    "arctan",
    np.arctan,
    arctan_primitive,
    lambda z: 1 / (1 + z**2),
    bounds=ActivationBounds(0.0, 1.0, 0.6496),
)


@pytest.fixture(autouse=True)
def _registered():
    """Register it, for these tests alone."""
    register_activation(ARCTAN)
    yield
    del ACTIVATIONS["arctan"]


def perceptron(activation="arctan") -> mfpde.Perceptron:
    return mfpde.Perceptron([[1.2, 0.4], [-0.3, 0.9]], [0.8, -0.5], activation)


def equation(direction: str = "ascent", activation="arctan") -> mfpde.MeanFieldEquation:
    return mfpde.MeanFieldEquation(
        mfpde.Attention(4.0), perceptron(activation), direction=direction
    )


@given(z=st.floats(-50, 50))
def test_its_bounds_hold(z) -> None:
    bounds, at = ARCTAN.bounds, np.array(z)
    slope = float(ARCTAN.derivative(at))
    step = 1e-4
    change = float(ARCTAN.derivative(at + step) - ARCTAN.derivative(at - step))
    assert bounds.least_slope <= slope <= bounds.largest_slope
    assert abs(change / (2 * step)) <= bounds.second


def test_density_and_particles_agree() -> None:
    start = mfpde.perturbed_uniform(mfpde.Circle(256), 0.3, seed=1)
    run = mfpde.solve(equation(), start, t_end=1.5)
    particles = mfpde.solve_particles(equation(), start, t_end=1.5, count=4000)
    assert mfpde.wasserstein(run.final, particles.final) < 2e-3
    assert (np.diff(run.energies) >= -1e-12).all()


def test_it_is_saved_loaded_and_drawn(tmp_path) -> None:
    run = mfpde.solve(
        equation(), mfpde.uniform(mfpde.Circle(64)), t_end=0.2, save_every=0.1
    )
    mfpde.save(run, tmp_path / "run.zarr")
    there = mfpde.load(tmp_path / "run.zarr").equation
    assert there.perceptrons[0].activation is ARCTAN
    assert "2 arctan neurons" in there.perceptrons[0].description
    mfpde.plot_run(run)
    mfpde.plot_density(run.final, equation=equation())


def test_stationary_atoms_are_polished() -> None:
    start = mfpde.quantized(mfpde.uniform(mfpde.Circle(64)), 3)
    run = mfpde.solve_particles(equation(), start, t_end=60.0, rtol=1e-8, atol=1e-10)
    found = mfpde.polish(equation(), run.final)
    assert found.residual < 1e-13
    assert np.abs(equation().velocity(found.atoms)).max() < 1e-13


def test_its_minimiser_has_a_certificate() -> None:
    found = mfpde.minimize(equation("descent"), mfpde.Circle(256))
    assert 0 <= found.gap < 1e-9
    energy = equation("descent").energy(found.measure)
    assert energy == pytest.approx(found.energy, abs=1e-12)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        angles = rng.uniform(0, 2 * np.pi, 4)
        points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        other = mfpde.Atoms(points, rng.dirichlet(np.ones(4)))
        assert equation("descent").energy(other) >= found.energy - found.gap


def test_without_bounds_a_certificate_is_refused() -> None:
    unknown = replace(ARCTAN, name="unknown", bounds=None)
    with pytest.raises(ValueError, match="'unknown': no bounds of its derivatives"):
        mfpde.minimize(equation("descent", unknown), mfpde.Circle(64))


def test_bounds_need_the_slopes_that_they_bound() -> None:
    with pytest.raises(ValueError, match="needs its derivative"):
        replace(ARCTAN, derivative=None)


def test_a_name_is_given_once_and_a_wrong_primitive_is_refused() -> None:
    with pytest.raises(ValueError, match="is there already"):
        register_activation(replace(ARCTAN, bounds=None))
    with pytest.raises(ValueError, match="needs Phi' = sigma"):
        register_activation(replace(ARCTAN, name="wrong", primitive=np.sin))
