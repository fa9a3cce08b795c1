r"""The paper's setting on the circle, run for many perceptrons.

d_t mu = div(mu grad F) (descent) or with the other sign, shifted kernel, uniform start, two
random unit neurons with normal weights (``Perceptron.random(2, 2, seed=...)``; seed 777 and the
shifted kernel are those of the authors' code, repository
antonioalvarezl/2026-MLP-Attention-Energy by Antonio Álvarez-López, Borjan Geshkovski and
Domènec Ruiz-Balet).  Atoms are counted by basins
(``mfpde.concentration``), those of at least 1 % of the mass.  Grids have 200 sqrt(beta) cells
and hand cores to exact atoms: where a light basin borders on a kink, a grid alone leaks over it
(3 of 21 ReLU perceptrons in descent got another count with 100 sqrt(beta) cells).  Witness:
quantised particles, on which the same basins are looked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde

Array = NDArray[np.float64]

PAPER_SEED = 777
LEAST_MASS = 0.01
T_END = 50.0
PARTICLES, TIME_STEP = 500, 0.2
MASS_TOLERANCE = 2 / PARTICLES
"""A particle on either boundary of a basin."""
QUICK: dict[str, Any] = {"cells_per_root": 100.0, "t_end": 15.0, "beta": 10.0}


@dataclass(frozen=True)
class Setting:
    """One run: everything that is varied."""

    seed: int
    beta: float = 25.0
    activation: str = "relu"
    direction: str = "descent"
    cells_per_root: float = 200.0
    t_end: float = T_END

    @property
    def cells(self) -> int:
        """Number of cells: ``cells_per_root`` sqrt(beta) at least, even."""
        return 2 * ceil(self.cells_per_root * self.beta**0.5 / 2)

    @property
    def perceptron(self) -> mfpde.Perceptron:
        """Two random neurons of the seed."""
        return mfpde.Perceptron.random(2, 2, seed=self.seed, activation=self.activation)

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """Attention with the shifted kernel, and the perceptron."""
        terms = mfpde.Attention(self.beta), self.perceptron
        return mfpde.MeanFieldEquation(*terms, direction=self.direction)


@cache
def density_end(setting: Setting) -> mfpde.Measure:
    """The density solver's state at the end."""
    return mfpde.solve(
        setting.equation,
        mfpde.uniform(mfpde.Circle(setting.cells)),
        t_end=setting.t_end,
        save_at=[setting.t_end],
        atoms="exact",
    ).final


@cache
def particle_end(setting: Setting) -> mfpde.Atoms:
    """500 quantised particles at the end."""
    start = mfpde.quantized(mfpde.uniform(mfpde.Circle(64)), PARTICLES)
    return mfpde.solve_particles(
        setting.equation, start, t_end=setting.t_end, time_step=TIME_STEP
    ).final


def counts_and_masses(settings: Iterable[Setting]) -> tuple[Array, Array]:
    """Numbers of atoms (2, settings) and largest masses, by density and by particles.

    Atoms and forming ones, of 1 % of the mass and more.
    """
    counts, masses = [], []
    for setting in settings:
        for end in (density_end(setting), particle_end(setting)):
            clusters = mfpde.concentration(end, setting.equation).clusters
            held = [a.mass for a in clusters if a.mass >= LEAST_MASS]
            counts.append(len(held))
            masses.append(max(held, default=0.0))
    return np.reshape(counts, (-1, 2)).T, np.reshape(masses, (-1, 2)).T


def seeds(quick: bool, count: int = 20) -> tuple[int, ...]:
    """The paper's seed and ``count`` others; three in the quick form."""
    return (PAPER_SEED, *range(3 if quick else count))
