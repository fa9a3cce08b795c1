"""A transport scheme of one's own, from one file: one whose discrete energy moves one way.

Carrillo, Chertock & Huang (2015): velocities at the faces are differences of the first variation.
"""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
import mfpde.transport
from mfpde.transport import Scheme, State, register_scheme, scheme_for
from mfpde.transport.circle import CircleTransport

CELLS = [128, 256, 512]
AXIS = np.array([1.0, 0.0])
LINEAR_POTENTIAL = mfpde.Potential(
    lambda x: x @ AXIS, lambda x: np.broadcast_to(AXIS, x.shape), dimension=2
)


class MonotoneCircle(CircleTransport):
    """Face velocities s (F_+ - F_0) / h; each cell sends its density times these, upwind.

    The flux through a face has the sign of s (F_+ - F_0), so that dE/dt has the sign s at every
    instant.  The price is pinning: an atom of mass m rests where the outside pull is below m h/2.
    """

    def outflows(self, masses, moments, velocity):
        """Outflows (2, n) through the lower and the upper face, and unresolved mass."""
        variation = self.grid.first_variation(moments)
        rise = np.roll(variation, -1) - variation
        at_upper_faces = self.grid.sign * rise / self.circle.spacing
        at_lower_faces = np.roll(at_upper_faces, 1)
        density = masses / self.circle.spacing
        low = np.maximum(-at_lower_faces, 0.0) * density
        high = np.maximum(at_upper_faces, 0.0) * density
        return np.stack([low, high]), 0.0


@pytest.fixture(autouse=True)
def monotone(monkeypatch):
    """Register the scheme for the length of a test."""
    of_circles = list(mfpde.transport._SCHEMES[mfpde.Circle])
    monkeypatch.setitem(mfpde.transport._SCHEMES, mfpde.Circle, of_circles)
    register_scheme(mfpde.Circle, Scheme("monotone", MonotoneCircle))


def pushed_density(circle: mfpde.Circle, time: float) -> mfpde.Density:
    """Push-forward of (1 + sin(theta + 1) / 2) / (2 pi) by V = cos(theta), in ascent.

    Points move by tan(theta / 2) = e^(-t) tan(theta_0 / 2).
    """
    factor = np.exp(time)
    half = np.tan((np.mod(circle.angles + np.pi, 2 * np.pi) - np.pi) / 2)
    origin = 2 * np.arctan(factor * half)
    stretch = factor * (1 + half**2) / (1 + (factor * half) ** 2)
    return mfpde.Density(circle, (1 + 0.5 * np.sin(origin + 1)) / (2 * np.pi) * stretch)


def test_solve_runs_a_new_scheme_at_its_first_order() -> None:
    errors = []
    for num_cells in CELLS:
        circle = mfpde.Circle(num_cells)
        run = mfpde.solve(
            mfpde.MeanFieldEquation(LINEAR_POTENTIAL, direction="ascent"),
            pushed_density(circle, 0.0),
            t_end=1.0,
            save_at=[1.0],
            transport="monotone",
        )
        assert run.statistics["method"] == "monotone"
        difference = run.final.density.values - pushed_density(circle, 1.0).values
        errors.append(np.abs(difference).sum() * circle.spacing)
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (np.abs(orders - 1) <= 0.1).all()


@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize("normalized", [False, True])
def test_its_energy_moves_one_way_at_every_instant(direction, normalized) -> None:
    """dE/dt = sum_i F_i dm_i/dt, of random masses and along a run."""
    circle = mfpde.Circle(128)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(12.0, normalized=normalized), direction=direction
    )
    grid = equation.on(circle)
    transport = scheme_for("monotone", circle).transport(grid)
    masses = np.random.default_rng(1).random(circle.shape) ** 4
    state = State(masses / masses.sum(), np.empty((0, 2)), np.empty(0))
    flow = transport.flow(state)
    rate = transport.rate(state.masses, flow.outflows)
    assert grid.sign * (grid.first_variation(flow.moments) @ rate) > 0
    run = mfpde.solve(
        equation,
        mfpde.perturbed_uniform(circle, 0.3),
        t_end=30.0,
        transport="monotone",
    )
    assert (grid.sign * np.diff(run.energies)).min() >= -1e-14
    assert grid.sign * (run.energies[-1] - run.energies[0]) > 0


@pytest.mark.parametrize("step", [1e-3, 1.0, 1e3])
def test_a_new_scheme_keeps_mass_and_sign_for_any_step(step: float) -> None:
    circle = mfpde.Circle(128)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(8.0), LINEAR_POTENTIAL, direction="descent"
    )
    transport = scheme_for("monotone", circle).transport(equation.on(circle))
    masses = np.random.default_rng(0).random(circle.shape) ** 12
    masses /= masses.sum()
    state = State(masses, np.empty((0, 2)), np.empty(0))
    flow = transport.flow(state)
    for new in (
        transport.stage(state, flow, step),
        transport.step(state, step).state,
    ):
        assert new.masses.min() >= 0
        assert new.masses.sum() == pytest.approx(1, abs=1e-14)
    rate = transport.rate(masses, flow.outflows)
    assert abs(rate.sum()) <= 1e-14 * np.abs(rate).sum()


def test_a_subclass_has_the_schemes_of_its_bases_and_its_own() -> None:
    class Ring(mfpde.Circle):
        pass

    class OtherMonotone(MonotoneCircle):
        pass

    register_scheme(Ring, Scheme("monotone", OtherMonotone))
    ring, circle = Ring(128), mfpde.Circle(128)
    assert scheme_for("monotone", ring).transport is OtherMonotone
    assert scheme_for("monotone", circle).transport is MonotoneCircle
    for exact_atoms in (False, True):
        of_ring, of_circle = (
            scheme_for(None, grid, exact_atoms=exact_atoms) for grid in (ring, circle)
        )
        assert of_ring is of_circle
    equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
    run = mfpde.solve(equation, mfpde.perturbed_uniform(ring, 0.3), t_end=0.5)
    assert run.statistics["method"] == "semi_lagrangian_donor_blended"
