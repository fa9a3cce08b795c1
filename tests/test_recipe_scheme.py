"""A transport scheme of one's own, from one file: first-order upwind on the circle."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
import mfpde.transport
from mfpde.transport import Scheme, State, register_scheme, scheme_for
from mfpde.transport.circle_schemes import CircleTransport

CELLS = [128, 256, 512]
AXIS = np.array([1.0, 0.0])
LINEAR_POTENTIAL = mfpde.Potential(
    lambda x: x @ AXIS, lambda x: np.broadcast_to(AXIS, x.shape), dimension=2
)


class UpwindCircle(CircleTransport):
    """Each cell sends density times velocity through the faces to which velocities point."""

    def outflows(self, masses, moments, velocity):
        """Outflows (2, n) through the lower and the upper face, and unresolved mass."""
        at_upper_faces = 0.5 * (velocity[0] + np.roll(velocity[0], -1))
        at_lower_faces = np.roll(at_upper_faces, 1)
        density = masses / self.circle.spacing
        low = np.maximum(-at_lower_faces, 0.0) * density
        high = np.maximum(at_upper_faces, 0.0) * density
        return np.stack([low, high]), 0.0


@pytest.fixture(autouse=True)
def upwind(monkeypatch):
    """Register the scheme for the length of a test."""
    of_circles = dict(mfpde.transport._SCHEMES[mfpde.Circle])
    monkeypatch.setitem(mfpde.transport._SCHEMES, mfpde.Circle, of_circles)
    register_scheme(mfpde.Circle, Scheme("upwind", UpwindCircle))


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
            transport="upwind",
        )
        assert run.statistics["method"] == "upwind"
        difference = run.final.density.values - pushed_density(circle, 1.0).values
        errors.append(np.abs(difference).sum() * circle.spacing)
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (np.abs(orders - 1) <= 0.1).all()


@pytest.mark.parametrize("step", [1e-3, 1.0, 1e3])
def test_a_new_scheme_keeps_mass_and_sign_for_any_step(step: float) -> None:
    circle = mfpde.Circle(128)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(8.0), LINEAR_POTENTIAL, direction="descent"
    )
    transport = scheme_for("upwind", circle).transport(equation.on(circle))
    masses = np.random.default_rng(0).random(circle.shape) ** 12
    masses /= masses.sum()
    state = State(masses, np.empty((0, 2)), np.empty(0))
    flow = transport.flow(state)
    for new in (
        transport.stage(state, flow, step),
        transport.advanced(state, flow, step).state,
    ):
        assert new.masses.min() >= 0
        assert new.masses.sum() == pytest.approx(1, abs=1e-14)
    rate = transport.rate(masses, flow.outflows)
    assert abs(rate.sum()) <= 1e-14 * np.abs(rate).sum()


def test_a_subclass_has_the_schemes_of_its_bases_and_its_own() -> None:
    class Ring(mfpde.Circle):
        pass

    class OtherUpwind(UpwindCircle):
        pass

    register_scheme(Ring, Scheme("upwind", OtherUpwind))
    ring, circle = Ring(128), mfpde.Circle(128)
    assert scheme_for("upwind", ring).transport is OtherUpwind
    assert scheme_for("upwind", circle).transport is UpwindCircle
    for exact_atoms in (False, True):
        of_ring, of_circle = (
            scheme_for(None, grid, exact_atoms=exact_atoms) for grid in (ring, circle)
        )
        assert of_ring is of_circle
    equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
    run = mfpde.solve(equation, mfpde.perturbed_uniform(ring, 0.3), t_end=0.5)
    assert run.statistics["method"] == "semi_lagrangian_donor_blended"
