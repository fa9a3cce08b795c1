"""Diffusion against pseudo-spectral references, held to measured tables of errors."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
from mfpde import Circle

BETA = 5.0


def phase(x):
    return np.arctan2(x[..., 1], x[..., 0])


def slope_of_potential(t):
    return -0.3 * np.sin(t - 1) - 0.4 * np.sin(2 * t)


POTENTIAL = mfpde.Potential(
    lambda x: 0.3 * np.cos(phase(x) - 1) + 0.2 * np.cos(2 * phase(x)),
    lambda x: (
        slope_of_potential(phase(x))[..., np.newaxis]
        * np.stack([-np.sin(phase(x)), np.cos(phase(x))], axis=-1)
    ),
)


def integrating_rk4(rate, modes, decay, time, steps):
    """Modes at ``time`` of d modes/dt = rate - decay modes, exact in the decay."""
    step = time / steps
    half = np.exp(-decay * step / 2)
    for _ in range(steps):
        a = rate(modes)
        b = rate(half * (modes + step / 2 * a))
        c = rate(half * modes + step / 2 * b)
        d = rate(half**2 * modes + step * half * c)
        modes = half**2 * modes + step / 6 * (half**2 * a + 2 * half * (b + c) + d)
    return modes


def reference(sign, kappa, time, count=1024):
    """Values at ``count`` angles from 0, by Fourier modes."""
    t = 2 * np.pi * np.arange(count) / count
    k = np.fft.fftfreq(count, 1 / count)
    kept = np.abs(k) <= count / 3
    kernel = np.fft.fft(np.exp(BETA * (np.cos(t) - 1)) / BETA) * 2 * np.pi / count
    external = slope_of_potential(t)

    def rate(modes):
        density = np.fft.ifft(modes).real
        attention = np.fft.ifft(1j * k * kernel * modes).real
        flux = np.fft.fft(density * sign * (attention + external))
        return -1j * k * flux * kept

    modes = np.fft.fft(np.full(count, 1 / (2 * np.pi)))
    return integrating_rk4(rate, modes, kappa * k**2, time, 6000)


def at_centres(modes, circle):
    k = np.fft.fftfreq(len(modes), 1 / len(modes))
    waves = np.exp(1j * np.outer(circle.angles, k))
    return (waves @ modes).real / len(modes)


# L1 errors in ascent at 64, 128 and 256 cells (a scheme of second order).
ASCENT = {
    1e-3: (1.24e-2, 1.66e-3, 5.2e-4),
    1e-2: (8.2e-3, 1.46e-3, 4.2e-4),
    0.1: (3.0e-3, 8.5e-4, 2.2e-4),
    1.0: (1.2e-3, 3.6e-4, 9.0e-5),
}
# In descent at 512 cells; a quarter as many cells allow 16 times as much at second order.
DESCENT_512 = {1e-3: 1.1e-4, 1e-2: 9.7e-5, 0.1: 4.8e-5, 1.0: 2.6e-5}


@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize(
    "kappa",
    [1e-3, 0.1, *(pytest.param(k, marks=pytest.mark.slow) for k in (1e-2, 1.0))],
)
def test_errors_on_the_circle_are_those_of_the_table_or_less(kappa, direction):
    sign = 1 if direction == "ascent" else -1
    modes = reference(sign, kappa, 1.5)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(BETA), POTENTIAL, direction=direction, diffusion=kappa
    )
    found = []
    for cells in (64, 128, 256):
        circle = Circle(cells)
        run = mfpde.solve(equation, mfpde.uniform(circle), t_end=1.5)
        exact = at_centres(modes, circle)
        missed = np.abs(run.final.density.values - exact).sum() * circle.spacing
        found.append(missed)
        assert run.final.density.values.min() >= 0
        assert abs(run.final.total_mass - 1) < 1e-13
        free = [equation.lyapunov_function(state) for state in run.states]
        assert (np.diff(free) < 1e-12).all()
    if direction == "ascent":
        assert (np.array(found) < 1.3 * np.array(ASCENT[kappa])).all()
    else:
        assert found[1] < 1.3 * 16 * DESCENT_512[kappa]
        assert found[2] < 1.3 * 4 * DESCENT_512[kappa]
