r"""The problems on the circle whose density is compared with particles, and the density.

    d_t mu + div(mu v) = 0,    v = s grad F

to t = 3: attention in ascent with a linear potential; softmax in descent; and the paper's
perceptron (ReLU, seed 777) in descent, whose density has kinks and jumps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import mfpde

Array = NDArray[np.float64]

T_END = 3.0
RTOL = 1e-6
AXIS = 0.3 * np.array([np.cos(1.0), np.sin(1.0)])


@dataclass(frozen=True)
class Problem:
    """An equation, the size of mode 1 of its start, and whether its density is smooth."""

    name: str
    equation: mfpde.MeanFieldEquation
    amplitude: float
    is_smooth: bool

    def start(self, circle: mfpde.Circle) -> mfpde.Density:
        """Density (1 + amplitude cos(theta - 2)) / 2 pi."""
        values = 1 + self.amplitude * np.cos(circle.angles - 2.0)
        return mfpde.Density(circle, values / (2 * np.pi))

    def density(self, cells: int) -> mfpde.Measure:
        """The density solver's state at t = 3 on ``cells`` cells."""
        run = mfpde.solve(
            self.equation,
            self.start(mfpde.Circle(cells)),
            t_end=T_END,
            save_at=[T_END],
            transport="semi_lagrangian" if self.is_smooth else "donor_blended",
            rtol=RTOL,
        )
        return run.final

    def moved(self, atoms: mfpde.Atoms, time_step: float) -> mfpde.Atoms:
        """Particles at t = 3, by Runge-Kutta steps of order 4."""
        run = mfpde.solve_particles(
            self.equation, atoms, t_end=T_END, time_step=time_step
        )
        return run.final

    def label_atoms(self, count: int) -> mfpde.Atoms:
        """``count`` weighted labels at t = 3."""
        run = mfpde.solve_particles(
            self.equation,
            self.start(mfpde.Circle(count)),
            t_end=T_END,
            method="labels",
            # At every kink of a ReLU an adaptive method would stop.
            **(
                {"rtol": 1e-12, "atol": 1e-14}
                if self.is_smooth
                else {"time_step": 0.02}
            ),
        )
        return run.final

    def labels(self, count: int, *, cells: int) -> mfpde.Density:
        """Density at t = 3 on ``cells`` cells from ``count`` weighted labels."""
        return mfpde.label_density(self.label_atoms(count), mfpde.Circle(cells))


def potential() -> mfpde.Potential:
    """V = 0.3 cos(theta - 1)."""
    return mfpde.Potential(
        lambda x: x @ AXIS, lambda x: np.broadcast_to(AXIS, x.shape), dimension=2
    )


def problems() -> tuple[Problem, ...]:
    """All three."""
    attention = mfpde.Attention(4.0)
    softmax = mfpde.Attention(8.0, normalized=True)
    paper = mfpde.Perceptron.random(2, 2, seed=777)
    return (
        Problem(
            "ascent, β = 4, linear V",
            mfpde.MeanFieldEquation(attention, potential(), direction="ascent"),
            0.4,
            True,
        ),
        Problem(
            "softmax descent, β = 8",
            mfpde.MeanFieldEquation(softmax, direction="descent"),
            0.4,
            True,
        ),
        Problem(
            "descent, β = 5, ReLU of seed 777",
            mfpde.MeanFieldEquation(mfpde.Attention(5.0), paper, direction="descent"),
            0.0,
            False,
        ),
    )
