"""The recipes of CONTRIBUTING.md: its blocks run as they are written, and each keeps its law."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from documents import ROOT, Page
from equations import ascent, descent

import mfpde
import mfpde.transport
from mfpde.commands.command_line import main
from mfpde.terms.activations import ACTIVATIONS, register_activation
from mfpde.transport import Scheme, register_scheme, scheme_for

NEURON = mfpde.Perceptron([[0.4, -0.2]], [0.5], "gelu")
START = mfpde.perturbed_uniform(mfpde.Circle(256), 0.3, seed=1)


@pytest.fixture(scope="module")
def made() -> Iterator[Any]:
    """Return what the blocks define, which for these tests alone the package knows."""
    schemes = mfpde.transport._SCHEMES
    known = list(schemes[mfpde.Circle])
    page = Page(ROOT / "CONTRIBUTING.md", slow=False)
    assert page.run() == 5
    yield SimpleNamespace(**page.names)
    schemes[mfpde.Circle] = known
    del ACTIVATIONS["arctan"]


@pytest.fixture(params=["kernel", "activation"])
def of_recipe(request, made) -> mfpde.MeanFieldEquation:
    if request.param == "kernel":
        return ascent(made.kernel, NEURON)
    return ascent(4.0, made.neurons)


def test_a_density_moves_as_its_particles_do(of_recipe) -> None:
    run = mfpde.solve(of_recipe, START, t_end=1.0)
    particles = mfpde.solve_particles(of_recipe, START, t_end=1.0, count=4000)
    # Both are second order: cells of 0.025, steps of mass 2.5e-4.
    assert mfpde.wasserstein(run.final, particles.final) < 2e-3
    assert run.mass_drift < 1e-12
    assert (np.diff(run.energies) >= -1e-12).all()


def test_what_a_kernel_does_not_say_is_refused(made) -> None:
    with pytest.raises(ValueError, match="known for Attention alone"):
        _ = made.equation.attentions
    steep = mfpde.Interaction(made.Polynomial((0.0,) * 30 + (1.0,)))
    with pytest.raises(ValueError, match="degrees up to 30"):
        ascent(steep).on(mfpde.Circle(32))


def test_its_minimiser_has_a_certificate(made) -> None:
    equation = descent(4.0, made.neurons)
    found = mfpde.minimize(equation, mfpde.Circle(256))
    assert 0 <= found.gap < 1e-9
    assert equation.energy(found.measure) == pytest.approx(found.energy, abs=1e-12)
    moved = mfpde.polish(equation, found.measure)
    assert moved.residual < 1e-13


def test_what_an_activation_does_not_say_is_refused(made) -> None:
    unknown = replace(made.arctan, name="unknown", bounds=None)
    neurons = mfpde.Perceptron([[1.0, 0.0]], [0.8], unknown)
    with pytest.raises(ValueError, match="'unknown': no bounds of its derivatives"):
        mfpde.minimize(descent(4.0, neurons), mfpde.Circle(64))
    with pytest.raises(ValueError, match="needs its derivative"):
        replace(made.arctan, derivative=None)
    with pytest.raises(ValueError, match="is there already"):
        register_activation(replace(made.arctan, bounds=None))
    with pytest.raises(ValueError, match="needs Phi' = sigma"):
        register_activation(replace(made.arctan, name="wrong", primitive=np.sin))


@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_its_energy_moves_one_way_and_mass_and_sign_are_kept(made, direction) -> None:
    attention = mfpde.Attention(12.0, normalized=direction == "ascent")
    equation = mfpde.MeanFieldEquation(attention, direction=direction)
    rough = np.random.default_rng(0).random(128) ** 4
    start = mfpde.Density(mfpde.Circle(128), rough).normalized()
    run = mfpde.solve(equation, start, t_end=30.0, save_every=1.0, transport="monotone")
    assert run.statistics["method"] == "monotone"
    assert (equation.sign * np.diff(run.energies)).min() >= -1e-14
    assert run.mass_drift < 1e-12
    assert min(state.density.values.min() for state in run.states) >= 0


def test_a_subclass_has_the_schemes_of_its_bases_and_its_own(made) -> None:
    class Ring(mfpde.Circle):
        pass

    class OtherMonotone(made.MonotoneCircle):
        pass

    register_scheme(Ring, Scheme("monotone", OtherMonotone))
    ring, circle = Ring(128), mfpde.Circle(128)
    assert scheme_for("monotone", ring).transport is OtherMonotone
    assert scheme_for("monotone", circle).transport is made.MonotoneCircle
    for exact in (False, True):
        own, of_base = (scheme_for(None, g, exact_atoms=exact) for g in (ring, circle))
        assert own is of_base
    run = mfpde.solve(made.equation, mfpde.perturbed_uniform(ring, 0.3), t_end=0.5)
    assert run.statistics["method"] == "semi_lagrangian_donor_blended"


def test_a_diagnostic_is_recorded_stored_shown_and_drawn(
    made, tmp_path, capsys
) -> None:
    run, order, path = made.run, made.order, tmp_path / "run.zarr"
    points = mfpde.Circle(128).points
    expected = [np.linalg.norm(s.density.masses @ points) for s in run.states]
    np.testing.assert_array_equal(run.diagnostics["order"], expected)
    assert list(run.diagnostics)[-1] == "order"
    mfpde.save(run, path)
    stored = xr.open_zarr(path, consolidated=False)["order"]
    assert stored.attrs == {"long_name": order.meaning, "units": order.unit}
    loaded = mfpde.load(path)
    np.testing.assert_array_equal(loaded.diagnostics["order"], expected)
    assert loaded.quantities == run.quantities
    assert main(["show", str(path)]) == 0
    told = capsys.readouterr().out
    assert f"{expected[-1]:.6g}" in told
    assert f"order: {order.meaning} [1]" in told
    ax = mfpde.plot_diagnostic(run, "order").axes[0]
    (line,) = (line for line in ax.lines if line.get_gid() == "order")
    np.testing.assert_array_equal(line.get_ydata(), expected)
    assert ax.get_title("left") == order.meaning
    with pytest.raises(ValueError, match=r"'ordre'.*did you mean 'order'"):
        mfpde.plot_diagnostic(run, "ordre")


def smooth(points: np.ndarray) -> np.ndarray:
    return np.exp(points[..., 0] + 0.5 * points[..., 1] ** 2)


def test_moments_and_fields_are_those_of_the_turned_centres(made) -> None:
    turned = made.TurnedCircle(64, 0.3)
    masses = np.random.default_rng(0).random(64)
    moments = turned.moments(masses, 20)
    expected = turned.atom_moments(turned.points, masses, 20)
    np.testing.assert_allclose(moments, expected, atol=1e-12)
    turns = turned.face_angles
    corners = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    for grid, points in ((turned, turned.points), (turned.faces, corners)):
        field = turned.field_at(moments, points).values
        np.testing.assert_allclose(grid.synthesis(moments), field, atol=1e-11)
    for cell in (0, 17, 63):
        near = turned.cells_about(turned.points[[cell]], 0.6 * turned.spacing).cells
        assert near.tolist() == [cell]
    ends = [np.eye(32)[31], np.eye(32)[31]]
    grids = [mfpde.Circle(32), made.TurnedCircle(32, 0.5)]
    one, other = (
        mfpde.Density(*pair).normalized() for pair in zip(grids, ends, strict=True)
    )
    assert mfpde.wasserstein(one, other) == pytest.approx(np.pi / 32, abs=1e-12)


def test_what_is_new_is_printed_stored_loaded_and_drawn(made, tmp_path) -> None:
    start = mfpde.Density.from_function(made.TurnedCircle(128, 0.3), smooth)
    equation = ascent(4.0, made.neurons)
    run = mfpde.solve(equation, start, t_end=0.5, save_every=0.25)
    assert "TurnedCircle(num_cells=128, share=0.3)" in repr(run.final)
    assert mfpde.concentration(run.final, equation).verdict
    mfpde.save(run, tmp_path / "run.zarr")
    loaded = mfpde.load(tmp_path / "run.zarr")
    assert loaded.final.density.geometry == made.TurnedCircle(128, 0.3)
    np.testing.assert_array_equal(loaded.final.density.values, run.final.density.values)
    (neurons,) = loaded.equation.perceptrons
    assert neurons.activation is made.arctan
    assert "2 arctan neurons" in neurons.description
    mfpde.plot_run(loaded).savefig(tmp_path / "run.png")
