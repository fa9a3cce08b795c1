"""The phase diagram of noisy attention, against tables, closed forms and branches."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent
from scipy.optimize import brentq
from scipy.special import ive

import mfpde
from mfpde.commands.command_line import main
from mfpde.theory import (
    critical_diffusion,
    has_continuous_transition,
    largest_continuous_beta,
)

# beta, kappa_#, kappa_c / kappa_#, fold / kappa_#, first moments at kappa_c and at the fold:
# computed to 2e-12 by another program, with 200 and with 400 nodes.
TABLE = {
    2: [
        (3, 0.065608904432, 1.008852100980, 1.011444167507, 0.4815438131, 0.39274760),
        (4, 0.044687709876, 1.046959372063, 1.058877177030, 0.6688055210, 0.54712795),
        (5, 0.032794453389, 1.093012656064, 1.114808443419, 0.7480309783, 0.61419363),
        (8, 0.016767811662, 1.228041553491, 1.276523430513, 0.8431935657, 0.69758984),
    ],
    3: [
        (3, 0.037220648309, 1.084195070588, 1.106890915104, 0.7622642113, 0.63790349),
        (4, 0.023450604009, 1.210243333936, 1.263246403688, 0.8585805598, 0.72955396),
        (5, 0.016001089598, 1.350323396502, 1.436122019067, 0.9019284562, 0.77399827),
        (8, 0.006835938489, 1.785367276790, 1.975636525381, 0.9514187943, 0.82897767),
    ],
}


@pytest.mark.parametrize("dimension", TABLE)
def test_values_of_the_table(dimension):
    rows = np.array(TABLE[dimension])
    found = mfpde.phase_diagram(dimension, rows[:, 0])
    assert found.threshold == pytest.approx(rows[:, 1], abs=1e-12)
    assert found.coexistence / found.threshold == pytest.approx(rows[:, 2], abs=1e-9)
    assert found.fold / found.threshold == pytest.approx(rows[:, 3], abs=1e-9)
    assert found.moment_at_coexistence == pytest.approx(rows[:, 4], abs=1e-9)
    assert found.moment_at_fold == pytest.approx(rows[:, 5], abs=1e-8)


@pytest.mark.parametrize("dimension", [2, 3, 4, 8, 16, 64])
def test_order_of_the_three_lines_and_their_meeting_at_the_cusp(dimension):
    cusp = largest_continuous_beta(dimension)
    found = mfpde.phase_diagram(
        dimension, [0.5 * cusp, cusp, cusp * 1.0001, cusp * 1.05, 4.0, 8.0, 20.0]
    )
    assert found.cusp == cusp
    order = dimension / 2
    ratio = ive(order + 1, cusp) / ive(order, cusp)
    assert ratio == pytest.approx(1 / dimension, 1e-12)
    for beta, threshold in zip(found.betas, found.threshold, strict=True):
        assert threshold == pytest.approx(critical_diffusion(beta, dimension), 1e-12)
    assert (found.fold[:2] == found.threshold[:2]).all()
    assert np.isnan(found.coexistence[:2]).all()
    assert np.isnan(found.barrier[:2]).all()
    assert (found.threshold[2:] < found.coexistence[2:]).all()
    assert (found.coexistence[2:] < found.fold[2:]).all()
    assert (found.barrier[2:] > 0).all()
    # The window closes with the square of the distance to the cusp.
    window = found.fold[2:4] / found.threshold[2:4] - 1
    assert window[1] / window[0] == pytest.approx(500.0**2, rel=0.3)


def test_the_unshifted_kernel_scales_every_kappa():
    shifted = mfpde.phase_diagram(3, [3.0, 5.0])
    plain = mfpde.phase_diagram(3, [3.0, 5.0], kernel="unshifted")
    for name in ("threshold", "fold", "coexistence", "barrier"):
        expected = getattr(shifted, name) * np.exp(shifted.betas)
        assert getattr(plain, name) == pytest.approx(expected, 1e-14)
    assert (plain.moment_at_fold == shifted.moment_at_fold).all()


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    betas = ["--betas", "1.5:6:10"]
    assert main(["phase-diagram", "--dimension", "3", *betas, "--figure", "p.pdf"]) == 0
    said = capsys.readouterr().out
    assert str(mfpde.phase_diagram(3, np.linspace(1.5, 6, 10))) in said
    assert (tmp_path / "p.png").stat().st_size > 5000
    mode = ["phase-diagram", "--dimension", "2", "--betas", "20", "--degree"]
    assert main([*mode, "2"]) == 0
    found = mfpde.phase_diagram(2, [20.0], degree=2)
    assert f"{found.fold[0]:.6g}" in capsys.readouterr().out
    one = ["phase-diagram", "--dimension", "3", "--betas", "2", "--figure", "q.pdf"]
    assert main(one) == main([*mode, "0"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 2


@pytest.mark.parametrize(("degree", "beta"), [(2, 16.0), (3, 40.0)])
def test_a_mode_of_the_circle_begins_at_its_bessel_function_and_folds(degree, beta):
    """The threshold is I_l(beta) e^-beta / beta, the fold that of the branch of densities."""
    found = mfpde.phase_diagram(2, [beta], degree=degree)
    assert found.degree == degree
    assert found.threshold[0] == pytest.approx(ive(degree, beta) / beta, rel=1e-12)
    assert found.threshold[0] < found.coexistence[0] < found.fold[0]
    circle = mfpde.Circle(240)
    start = 0.5 * (found.threshold[0] + found.coexistence[0])
    equation = ascent(beta, diffusion=start)
    # A state of l-fold symmetry, by rho <- exp(F / kappa) / Z.
    values = np.exp(8 * np.cos(degree * circle.angles))
    for _ in range(4000):
        # Rounding must not break the symmetry.
        values = np.tile(values.reshape(degree, -1).mean(axis=0), degree)
        density = mfpde.Density(circle, values).normalized()
        field = equation.first_variation(density)
        values = np.exp((field - field.max()) / start)
    moment = np.abs(circle.moments(density.masses, degree)[degree])
    assert moment > found.moment_at_fold[0]
    branch = mfpde.continuation(
        equation, density, "diffusion", [start, 1.01 * found.fold[0]]
    )
    folds = [event.value for event in branch.events if event.kind == "fold"]
    assert folds[0] == pytest.approx(found.fold[0], rel=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3, 6])
def test_a_mode_orders_continuously_up_to_where_its_double_has_half_its_eigenvalue(
    degree,
):
    cusp = largest_continuous_beta(2, degree=degree)
    assert ive(2 * degree, cusp) / ive(degree, cusp) == pytest.approx(0.5, rel=1e-11)
    found = mfpde.phase_diagram(2, [0.9 * cusp, 1.1 * cusp], degree=degree)
    assert np.isnan(found.coexistence[0])
    assert found.fold[0] == found.threshold[0]
    assert found.fold[1] > found.threshold[1]
    assert degree == 1 or f"of degree {degree} " in str(found)


@pytest.mark.parametrize("second", [-0.3, 0.0, 0.4, 0.6, 0.9])
def test_a_kernel_orders_continuously_by_its_second_eigenvalue(second):
    """W = cos t + c cos 2t: weak order is at kappa below 1/2 iff c is at most 1/2."""
    kernel = mfpde.ZonalKernel(
        lambda u: u + second * (2 * u**2 - 1), lambda u: 1 + 4 * second * u
    )
    angles = (np.arange(400) + 0.5) * 2 * np.pi / 400
    amplitude = 0.1

    def moments(other):
        density = np.exp(amplitude * np.cos(angles) + other * np.cos(2 * angles))
        return np.array([np.cos(angles), np.cos(2 * angles)]) @ density / density.sum()

    def imbalance(other):
        first, double = moments(other)
        return other * first / amplitude - second * double

    first, _ = moments(brentq(imbalance, -0.1, 0.5))
    begins_below = first / amplitude < critical_diffusion(kernel, 2)
    assert has_continuous_transition(kernel, 2) is bool(begins_below)


def test_a_kernel_whose_second_degree_grows_first_orders_at_once():
    assert not has_continuous_transition(mfpde.Polynomial((-0.5, 0.1, 1.5)), 3)
